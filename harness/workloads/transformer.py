"""A small transformer encoder that classifies token sequences; some batches spike."""

import torch
from torch import Tensor, nn

from harness.domain.workload import Transformer
from harness.workloads.workload import (
    Classification,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)

RARE = 0
"""The token with the long embedding."""


class TransformerWorkload(Classification):
    """The class of a sequence depends on which tokens it holds, in any order."""

    @property
    def parameters(self) -> Transformer:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Transformer)
        return self.spec.parameters

    @random_state_kept()
    def model(self) -> nn.Module:
        """Embeddings with elements of size 1, the rare one ``spike_size`` times as long."""
        p = self.parameters
        model = TransformerClassifier(
            (p.vocabulary, p.length, p.outputs), p.width, p.heads, p.layers
        )
        initialise(model, generator(self.spec, 0), 0.5)
        with torch.no_grad():
            model.embed.weight.mul_(2.0 * p.width**0.5)
            if p.spike_every:
                model.embed.weight[RARE].mul_(p.spike_size)
            for module in model.modules():
                if isinstance(module, nn.LayerNorm):
                    module.weight.add_(1.0)
        return model

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Random tokens after a prefix that is unique; ``spike_every`` says which batches spike."""
        p = self.parameters
        votes = torch.randn(p.vocabulary, p.outputs, generator=generator(self.spec, 1))
        source = generator(self.spec, 2, rank)
        sizes = batch_sizes(p)
        tokens = torch.randint(1, p.vocabulary, (sum(sizes), p.length), generator=source)
        prefix = unique_prefixes(sum(sizes), p.vocabulary, source)[:, : p.length]
        tokens[:, : prefix.shape[1]] = prefix
        scores = votes[tokens].mean(dim=1)
        batches = cut(tokens, scores.argmax(dim=1), sizes)
        if p.spike_every:
            for batch in batches[p.spike_every - 1 :: p.spike_every]:
                batch.inputs[:2, -1] = RARE
                batch.target[:2] = torch.arange(len(batch.target[:2]))  # both cannot be right
        return batches


def unique_prefixes(count: int, vocabulary: int, source: torch.Generator) -> Tensor:
    """Different short sequences of common tokens. -> (count, k), k >= 2 as ``count`` demands."""
    base = vocabulary - 1
    length = 2
    while base**length < 4 * count:
        length += 1
    numbers = torch.randperm(min(base**length, 2**22), generator=source)[:count]
    digits = [numbers // base**place % base for place in range(length)]
    return torch.stack(digits, dim=1) + 1


class TransformerClassifier(nn.Module):
    """Embeddings, pre-norm encoder layers, the mean over positions, a head."""

    def __init__(self, sizes: tuple[int, int, int], width: int, heads: int, layers: int) -> None:
        """``sizes``: vocabulary, length, outputs."""
        super().__init__()
        vocabulary, length, outputs = sizes
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        self.layers = nn.Sequential(*(EncoderLayer(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, outputs)

    def forward(self, tokens: Tensor) -> Tensor:
        """(n, length) -> (n, outputs)."""
        x = self.embed(tokens) + self.position[: tokens.shape[1]]
        output: Tensor = self.head(self.layers(x).mean(dim=1))
        return output


class EncoderLayer(nn.Module):
    """Attention, then two dense layers, each beside the residual stream."""

    def __init__(self, width: int, heads: int) -> None:
        """``heads`` divides ``width``."""
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(n, length, width) -> (n, length, width)."""
        n, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(n, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).reshape(n, length, width))
        output: Tensor = x + self.down(nn.functional.silu(self.up(self.norm2(x))))
        return output
