"""A byte-level GPT: pre-norm transformer blocks, causal attention, learned positions, output tied to the embedding.

    x <- x + attention(norm(x));  x <- x + mlp(norm(x));  logits = norm(x) E^T

Radford et al., "Language models are unsupervised multitask learners", 2019 (GPT-2). Differs: 256 bytes instead of a
tokenizer, no dropout, no biases in the linear layers.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from laconic.core.errors import LaconicError

BYTES = 256
INIT_STD = 0.02


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(n, length, width))
        return out


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        y: Tensor = x + self.down(F.gelu(self.up(self.norm2(x))))
        return y


class GPT(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, context: int) -> None:
        super().__init__()
        if width % heads:
            raise LaconicError(f"gpt: width {width} is not a multiple of {heads} heads. Change --width or --heads.")
        self.embed = nn.Embedding(BYTES, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self._initialise(layers)

    def _initialise(self, layers: int) -> None:
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue
            ends_a_branch = name.endswith(("attention.out.weight", "down.weight"))
            # GPT-2: the residual stream adds 2 * layers branches, so each starts that much smaller
            std = INIT_STD / math.sqrt(2 * layers) if ends_a_branch else INIT_STD
            nn.init.normal_(parameter, std=std)

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1], device=x.device)
        hidden = self.blocks(self.embed(x) + self.position(positions))
        return F.linear(self.norm(hidden), self.embed.weight)
