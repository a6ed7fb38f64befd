"""Questions to a model as batches: turn by turn, until every conversation can be replayed.

A batch is nothing but another way into the cache of answers. Conversations are played from it; what
they lack is collected, handed in as one batch, and put into the cache when it has ended. So both
turns, tools included, go the same way, and whatever was paid for survives any end of this process:
the id of a batch is kept before anything else is done with it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from harness.agents.silent import SilentModel
from harness.domain.errors import UsageError, UserError
from harness.domain.model import Completion, Unavailable
from harness.domain.record import Record
from harness.llm.batches import MOST_REQUESTS, Batches, BatchForgotten, BatchQuestion
from harness.llm.failures import PASSING
from harness.llm.meter import CostMeter
from harness.llm.remote import at_most
from harness.store.whole import write_whole

if TYPE_CHECKING:
    from harness.agents.cache import Cache

ATTEMPTS = 3
"""How often a question is handed in that expires, or fails in a way that may pass."""

_KEPT_FOR = 29 * 24 * 3600.0
"""Seconds for which the provider keeps results."""


@dataclass(frozen=True, slots=True)
class Outbox(SilentModel):
    """Stands for a model in conversations that are played from the cache: takes what they lack."""

    waiting: dict[str, BatchQuestion] = field(default_factory=dict)
    """What is lacking, by the key of its answer."""
    failed: dict[str, Unavailable] = field(default_factory=dict)
    """What there will be no answer to."""

    def complete_as(self, key: str, question: BatchQuestion) -> Completion:
        """Answer nothing.

        Raises:
            Unavailable: always.
        """
        if key in self.failed:
            raise self.failed[key]
        self.waiting[key] = question
        raise Unavailable("interrupted", "the question waits for a batch")


def outbox_for(spec: str) -> Outbox:
    """That of the model which stands behind ``--agent``.

    Raises:
        UsageError: no batches are handed in for it.
    """
    kind, _, model = spec.partition(":")
    if kind != "anthropic" or not model:
        raise UsageError(f"--batch is for anthropic:MODEL, not for {spec}")
    return Outbox(model)


class BatchUnderWay(Record):
    """A batch that was handed in, and whose results are not all used yet."""

    id: str
    """The provider's."""
    model: str
    """Who answers."""
    address: str
    """Where it was handed in; empty for the provider's own."""
    keys: tuple[str, ...]
    """The answers that it brings."""
    created: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Batches under way, a file each, beside the answers."""

    folder: Path
    """Created with the first batch."""

    def keep(self, batch: BatchUnderWay) -> None:
        """Whole or not at all.

        Raises:
            UsageError: it cannot be kept.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._file(batch), batch.model_dump_json().encode())
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"{self.folder}: batch {batch.id} cannot be kept: {why}") from error

    def drop(self, batch: BatchUnderWay) -> None:
        """Its results are used, or will never be."""
        self._file(batch).unlink(missing_ok=True)

    def batches(self, model: str, address: str) -> list[BatchUnderWay]:
        """Those of a model."""
        return [one for one in self.every() if (one.model, one.address) == (model, address)]

    def every(self) -> list[BatchUnderWay]:
        """All of them, the oldest first; what the provider has forgotten is dropped."""
        found = []
        for path in self.folder.glob("*.json"):
            with suppress(OSError, ValidationError):
                one = BatchUnderWay.model_validate_json(path.read_bytes())
                if time.time() - one.created > _KEPT_FOR:
                    self.drop(one)
                else:
                    found.append(one)
        return sorted(found, key=lambda one: one.created)

    def _file(self, batch: BatchUnderWay) -> Path:
        return (
            self.folder / f"{''.join(c for c in batch.id if c.isalnum() or c in '_-')[:100]}.json"
        )


@dataclass(frozen=True, slots=True)
class BatchGroup:
    """Questions that share an agent, and a limit of cost."""

    outbox: Outbox
    """Where they wait."""
    cache: "Cache"
    """Where their answers go."""
    meter: CostMeter
    """Counts them."""
    play: Callable[[], None]
    """Plays all of their conversations as far as the answers go that are there."""


@dataclass(slots=True)
class BatchAsker:
    """Hands in what all groups wait for, until nothing does."""

    batches: Batches
    """The provider."""
    journal: Journal
    """What is under way."""
    address: str
    """Where it is handed in."""
    tell: Callable[[str], None]
    """Takes a sentence about what happens."""
    used: list[BatchUnderWay] = field(default_factory=list)
    """Batches whose results were used."""
    attempts: dict[str, int] = field(default_factory=dict)
    """How often each question failed in a way that may pass."""

    def ask(self, groups: Sequence[BatchGroup]) -> None:
        """Until every conversation can be played to its end, or what it lacks has failed.

        Raises:
            UserError: the provider takes no batches, as with a wrong key.
            KeyboardInterrupt: it was broken off. What is under way is kept.
        """
        pending = self.journal.batches(self.batches.model, self.address)
        while waiting := _waiting(groups):
            old = next((one for one in pending if waiting.keys() & set(one.keys)), None)
            if old is not None:
                pending.remove(old)
                self.tell(f"batch {old.id} was handed in before and is waited for")
                self._take_old(old, waiting)
                continue
            for part in [self._hand_in(part) for part in self._parts(waiting)]:
                self._take(part, waiting)

    def finish(self) -> None:
        """All answers are graded: what was used is forgotten."""
        for batch in self.used:
            self.journal.drop(batch)

    def _parts(self, waiting: dict[str, BatchGroup]) -> Sequence[dict[str, BatchQuestion]]:
        """What fits under the limits of cost, in batches of a size that the provider takes."""
        fitting: dict[str, BatchQuestion] = {}
        planned: dict[int, float] = {}
        for key, group in waiting.items():
            question = group.outbox.waiting[key]
            worst = at_most(
                self.batches.price,
                question.system,
                question.turns,
                question.tools,
                question.max_tokens,
            )
            so_far = planned.get(id(group), 0.0)
            try:
                with group.meter.room_for(so_far + worst):
                    planned[id(group)] = so_far + worst
                    fitting[key] = question
            except Unavailable as full:
                group.outbox.failed[key] = full
        keys = [*fitting]
        cuts = range(0, len(keys), MOST_REQUESTS)
        return [{key: fitting[key] for key in keys[n : n + MOST_REQUESTS]} for n in cuts]

    def _hand_in(self, questions: dict[str, BatchQuestion]) -> BatchUnderWay:
        try:
            batch = self.batches.create(questions)
        except Unavailable as refused:
            raise _error(refused) from refused
        kept = BatchUnderWay(
            id=batch,
            model=self.batches.model,
            address=self.address,
            keys=tuple(questions),
            created=time.time(),
        )
        self.journal.keep(kept)
        count = "1 question is" if len(questions) == 1 else f"{len(questions)} questions are"
        self.tell(f"batch {batch}: {count} under way, for a day at most; Ctrl-C loses nothing")
        return kept

    def _take_old(self, batch: BatchUnderWay, waiting: dict[str, BatchGroup]) -> None:
        """A batch of an earlier process, of which the provider may know nothing any more."""
        try:
            self._take(batch, waiting)
        except BatchForgotten:
            self.tell(f"batch {batch.id} is not known to the provider any more")
            self.journal.drop(batch)

    def _take(self, batch: BatchUnderWay, waiting: dict[str, BatchGroup]) -> None:
        """Wait for a batch, and put what it brings where it belongs."""
        try:
            self.batches.wait(batch.id)
            results = dict(self.batches.results(batch.id))
        except Unavailable as failed:
            raise _error(failed) from failed
        self.used.append(batch)
        answered, again = 0, 0
        for key in batch.keys:
            group = waiting.get(key)
            if group is None or key not in group.outbox.waiting:
                continue
            found = results.get(key) or Unavailable(
                "bad_response", "the batch has no result for it"
            )
            answered += isinstance(found, Completion)
            again += self._settle(key, found, group)
        self.tell(f"batch {batch.id} has ended: {answered} answered, {again} to be asked again")

    def _settle(self, key: str, found: Completion | Unavailable, group: BatchGroup) -> bool:
        """Whether it is asked again."""
        del group.outbox.waiting[key]
        usage = found.usage
        if usage is not None:
            price = self.batches.price
            group.meter.count(usage, priced=price is not None)
            group.meter.spend(price.of(usage) if price else 0.0)
        if isinstance(found, Completion):
            group.cache.put(key, found)
            return False
        self.attempts[key] = self.attempts.get(key, 0) + 1
        if found.kind in PASSING and self.attempts[key] < ATTEMPTS:
            return True
        group.outbox.failed[key] = found
        return False


def _waiting(groups: Sequence[BatchGroup]) -> dict[str, BatchGroup]:
    """Every question that has to be handed in, with its group."""
    found: dict[str, BatchGroup] = {}
    for group in groups:
        group.cache.refuse_more()
        group.outbox.waiting.clear()
        group.play()
        found |= dict.fromkeys(group.outbox.waiting, group)
    return found


def _error(failed: Unavailable) -> BaseException:
    """What breaks off all of it: a batch that cannot be handed in says nothing of one question."""
    if failed.kind == "interrupted":
        return KeyboardInterrupt()
    return UserError(f"no batch: {failed.sentence}")
