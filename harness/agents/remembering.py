"""A model that is asked nothing twice."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.agents.batching import Outbox
from harness.agents.cache import Cache, key_of
from harness.domain.model import Completion, LanguageModel, Tool, Turn
from harness.llm.batches import BatchQuestion


@dataclass(frozen=True, slots=True)
class RememberingModel:
    """A model that is asked only what it was not asked before, in the same trial."""

    model: LanguageModel
    """Who is asked otherwise."""
    cache: Cache
    """What was answered."""
    trial: int
    """A further trial is asked anew."""
    apart: tuple[str, ...]
    """Answers are kept apart from those with other words here."""

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools: Sequence[Tool] = ()
    ) -> Completion:
        """As the model's; each turn is kept as soon as it is there."""
        key = key_of(
            model=self.model.name,
            system=system,
            turns=[turn.model_dump(mode="json") for turn in turns],
            tools=[tool.model_dump(mode="json") for tool in tools],
            max_tokens=max_tokens,
            trial=self.trial,
            apart=list(self.apart),
        )
        kept = self.cache.get(key, Completion)
        if kept is None and isinstance(self.model, Outbox):
            return self.model.complete_as(
                key, BatchQuestion(system, (*turns,), (*tools,), max_tokens)
            )
        if kept is None:
            self.cache.refuse_more()
            kept = self.model.complete(system, turns, max_tokens=max_tokens, tools=tools)
            self.cache.put(key, kept)
        return kept
