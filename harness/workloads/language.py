"""A small recurrent language model, over rows of tokens or over one long text."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from harness.domain.workload import Language
from harness.workloads.padded import IGNORED
from harness.workloads.transformer import unique_prefixes
from harness.workloads.workload import (
    Workload,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)

SIDE = 120
"""Rows and columns of the long text: as many, so that programs may cut either into chunks."""

PARTS = (1.0, 0.3, 0.7, 0.5)
"""Of the rows of successive batches, where these are ragged; ranks begin at others."""


class LanguageWorkload(Workload):
    """The next token is a fixed function of this one, most of the time."""

    @property
    def parameters(self) -> Language:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Language)
        return self.spec.parameters

    @property
    def carries_state(self) -> bool:
        """Its model may be given the state of the chunk before."""
        return True

    @random_state_kept()
    def model(self) -> nn.Module:
        """Called with tokens alone it returns logits; with a state, or ``None``, the new one as well."""
        model = TokenModel(self.parameters.vocabulary, self.parameters.width)
        initialise(model, generator(self.spec, 0))
        return model

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Rows whose beginnings are unique; the target of a token is the one after it."""
        p, source = self.parameters, generator(self.spec, 2, rank)
        sizes = batch_sizes(p)
        rows = self._text(sum(sizes), p.length + 1, source)
        batches = cut(rows[:, :-1].clone(), rows[:, 1:].clone(), sizes)
        for at, batch in enumerate(batches if p.ragged else ()):
            counted = PARTS[(at + 2 * rank) % len(PARTS)] * p.length
            batch.target[:, max(2, int(counted)) :] = IGNORED
        return batches

    def _text(self, rows: int, length: int, source: torch.Generator) -> Tensor:
        p = self.parameters
        follows = torch.randperm(p.vocabulary, generator=generator(self.spec, 1))
        found = torch.randint(1, p.vocabulary, (rows, length), generator=source)
        for place in range(1, length):
            kept = torch.rand(rows, generator=source) < 0.8
            found[kept, place] = follows[found[kept, place - 1]]
        prefix = unique_prefixes(rows, p.vocabulary, source)[:, :length]
        found[:, : prefix.shape[1]] = prefix
        return found

    def criterion(self) -> Callable[..., Tensor]:
        """Cross-entropy over all tokens, however the logits are laid out."""
        return over_tokens

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Mean over the tokens of each row. (n, T, V) -> (n,)"""
        losses = nn.functional.cross_entropy(
            output.transpose(1, 2), batch.target, reduction="none", ignore_index=IGNORED
        )
        return losses.sum(dim=1) / (batch.target != IGNORED).sum(dim=1)

    def extra_names(self) -> Mapping[str, object]:
        """One long text, under the names that people give it."""
        text = self._text(SIDE, SIDE, generator(self.spec, 4))
        names = ("train_data", "train_tokens", "train_source", "tokens", "stream", "corpus", "text")
        return dict.fromkeys(names, text)


def over_tokens(logits: Tensor, target: Tensor) -> Tensor:
    """The mean loss of all tokens. Logits in rows, as (n, T, V) or as (n, V, T)."""
    in_places = logits.dim() == 3 and logits.shape[:2] == target.shape
    scores = logits.transpose(1, 2) if in_places else logits
    return nn.functional.cross_entropy(scores, target)


class TokenModel(nn.Module):
    """Embedding, LSTM, and the logits of the next token."""

    def __init__(self, vocabulary: int, width: int) -> None:
        """``width``: of embeddings and state."""
        super().__init__()
        self.symbols = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.scores = nn.Linear(width, vocabulary)

    def init_hidden(self, *_: object) -> tuple[Tensor, Tensor]:
        """The state before the long text, whose columns are as many as its rows; batches that are
        smaller take a part of it.
        """
        nothing = torch.zeros(1, SIDE, self.rnn.hidden_size)
        return nothing, nothing.clone()

    def forward(
        self, input_ids: Tensor, *state: tuple[Tensor, Tensor] | None, **_: object
    ) -> object:
        """(n, T) -> (n, T, V), and the state where one is asked for; chunks of the long text may also be
        (T, n).
        """
        across = input_ids.shape[1] == SIDE
        tokens = input_ids.t() if across else input_ids
        before = [_beginning(s, len(tokens)) for s in state if s is not None]
        out, after = self.rnn(self.symbols(tokens), *before)
        logits = self.scores(out.transpose(0, 1) if across else out)
        return (logits, after) if state else logits


def _beginning(state: tuple[Tensor, Tensor], rows: int) -> tuple[Tensor, Tensor]:
    """The state for so many rows, where it is that before the long text."""
    first, second = state
    whole = first.dim() == 3 and first.shape[1] == SIDE
    return (first[:, :rows], second[:, :rows]) if whole else (first, second)
