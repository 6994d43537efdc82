"""GPT-2 small. Radford et al. 2019; the head is the word embedding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from laconic.sim.models.flops import Attend

WORDS, LONGEST = 50257, 1024


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.attend, self.project = Attend(), nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        x = x + self.project(self.attend(q, k, v).transpose(1, 2).flatten(2))
        out: Tensor = x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
        return out


class Gpt2(nn.Module):
    def __init__(self, width: int = 768, layers: int = 12, heads: int = 12) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(WORDS, width), nn.Embedding(LONGEST, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)
        self.head.weight = self.word.weight

    def forward(self, words: Tensor) -> Tensor:
        x = self.word(words) + self.position(torch.arange(words.shape[1], device=words.device))
        out: Tensor = self.head(self.norm(self.blocks(x)))
        return out
