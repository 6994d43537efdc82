"""BERT with its heads. Devlin et al., NAACL 2019, arXiv:1810.04805. Decoder and word embedding are one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from laconic.sim.models.flops import Attend

WORDS, LONGEST = 30522, 512


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attend = Attend()
        self.output, self.norm1 = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.down, self.norm2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self._split(part(x)) for part in (self.query, self.key, self.value))
        mixed = self.attend(q, k, v).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.output(mixed))
        out: Tensor = self.norm2(x + self.down(nn.functional.gelu(self.up(x))))
        return out

    def _split(self, x: Tensor) -> Tensor:
        out: Tensor = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return out


class Bert(nn.Module):
    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.word = nn.Embedding(WORDS, width)
        self.position, self.segment = nn.Embedding(LONGEST, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.pooler, self.next_sentence = nn.Linear(width, width), nn.Linear(width, 2)
        self.transform, self.transform_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.decoder = nn.Linear(width, WORDS)
        self.decoder.weight = self.word.weight

    def forward(self, words: Tensor) -> Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        x = self.norm(self.word(words) + self.position(places) + self.segment(torch.zeros_like(words)))
        x = self.layers(x)
        self.next_sentence(self.pooler(x[:, 0]).tanh())
        out: Tensor = self.decoder(self.transform_norm(nn.functional.gelu(self.transform(x))))
        return out
