"""The Message Batches API: many questions at half the price, answered within a day."""

import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any, TypeVar

import anthropic
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages.batch_create_params import Request as BatchRequest
from pydantic import BaseModel, ValidationError

from harness.domain.errors import UserError
from harness.domain.model import Completion, Tool, Turn, Unavailable
from harness.llm.client import RAISED, connected
from harness.llm.failures import asked_pause, may_pass, named, one_line, unavailable
from harness.llm.loop import LoopThread
from harness.llm.prices import Price
from harness.llm.remote import ClientLimits, interrupted
from harness.llm.wire import completion_of, messages_of, system_blocks, tools_of, understood

MOST_REQUESTS = 10_000
"""In one batch; the provider takes 100,000, and 256 MB."""

HALF = 0.5
"""What a token costs in a batch, as a share of its price."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """One turn that is asked for."""

    system: str
    """The system prompt."""
    turns: tuple[Turn, ...]
    """The conversation so far."""
    tools: tuple[Tool, ...]
    """What may be called."""
    max_tokens: int
    """The most that the answer may have."""


@dataclass(frozen=True, slots=True)
class BatchPause:
    """How to wait for a batch."""

    first_pause: float = 1.0
    """Seconds before it is asked for again; each pause is half as long again as the one before."""
    longest_pause: float = 60.0
    """Seconds."""


class BatchForgotten(UserError):
    """The provider does not know the batch any more."""


class Batches:
    """Batches for one model. Closed from any thread; whoever waits then gets ``Unavailable``."""

    def __init__(
        self, model: str, price: Price | None, limits: ClientLimits, patience: BatchPause
    ) -> None:
        """Connects to nothing yet.

        Raises:
            UsageError: there is no key.
        """
        self.model = model
        self.price = halved(price) if price else None
        self._limits = limits
        self._patience = patience
        self._sdk = connected(limits.timeout)
        self._closed = threading.Event()
        self._loop = LoopThread()

    def create(self, questions: Mapping[str, BatchQuestion]) -> str:
        """Hand in a batch, by keys of at most 64 letters and digits; its id.

        Raises:
            Unavailable: it was not taken.
        """
        requests = [
            BatchRequest(custom_id=key, params=self._params(question))
            for key, question in questions.items()
        ]

        async def create() -> str:
            return (await self._sdk.messages.batches.create(requests=requests)).id

        for attempt in range(1, self._limits.attempts + 1):
            try:
                return self._run(create())
            except anthropic.AnthropicError as error:
                if attempt == self._limits.attempts or not may_pass(error, RAISED):
                    raise unavailable(error, RAISED) from error
                self._wait(
                    asked_pause(error, RAISED) or self._limits.first_pause * 2.0 ** (attempt - 1)
                )
        raise AssertionError("the last attempt does not wait")

    def wait(self, batch: str) -> None:
        """Until it has ended. What passes, an overload or a network that is down, is waited out.

        Raises:
            Gone: there is no such batch.
            Unavailable: it can never be known.
        """

        async def ended() -> bool:
            found = await self._sdk.messages.batches.retrieve(batch)
            return found.processing_status == "ended"

        pause = self._patience.first_pause
        while True:
            try:
                if self._run(ended()):
                    return
            except anthropic.NotFoundError as error:
                raise BatchForgotten(
                    f"batch {batch}: {unavailable(error, RAISED).sentence}"
                ) from error
            except anthropic.AnthropicError as error:
                if not may_pass(error, RAISED):
                    raise unavailable(error, RAISED) from error
            self._wait(pause)
            pause = min(pause * 1.5, self._patience.longest_pause)

    def results(self, batch: str) -> Iterator[tuple[str, Completion | Unavailable]]:
        """What became of each question of a batch that has ended, by its key, in any order.

        Raises:
            Gone: they are not there any more.
            Unavailable: they could not be read.
        """

        async def read() -> list[object]:
            return [line async for line in await self._sdk.messages.batches.results(batch)]

        try:
            lines = self._run(read())
        except anthropic.NotFoundError as error:
            raise BatchForgotten(f"batch {batch}: {unavailable(error, RAISED).sentence}") from error
        except (anthropic.AnthropicError, ValueError) as error:
            if isinstance(error, anthropic.AnthropicError):
                raise unavailable(error, RAISED) from error
            raise Unavailable("bad_response", f"the results of {batch} are no JSON") from error
        for line in lines:
            told = _line(line)
            if told is not None:
                yield told.custom_id, self._result(line, told)

    def close(self) -> None:
        """Break off waiting. The batch goes on at the provider."""
        self._closed.set()
        self._loop.close(self._sdk.close())

    def _params(self, question: BatchQuestion) -> MessageCreateParamsNonStreaming:
        found: MessageCreateParamsNonStreaming = {
            "model": self.model,
            "max_tokens": question.max_tokens,
            "messages": messages_of(question.turns),
        }
        if question.system:
            found["system"] = system_blocks(question.system)
        if question.tools:
            found["tools"] = tools_of(question.tools)
        return found

    def _result(self, line: object, told: "_BatchLine") -> Completion | Unavailable:
        kind, error = told.result.type, told.result.error
        if kind == "succeeded":
            return self._answer(line)
        if kind == "errored" and error is not None:
            said = f"{error.error.type}: {error.error.message}"
            sentence = one_line(f"in the batch the provider answers {said}")
            return Unavailable(named(error.error.type), sentence)
        if kind == "expired":
            return Unavailable("timeout", "the batch expired before the question was answered")
        if kind == "canceled":
            return Unavailable("interrupted", "the batch was canceled")
        return Unavailable("bad_response", one_line(f"a result that is not known here: {kind}"))

    def _answer(self, line: object) -> Completion | Unavailable:
        try:
            return completion_of(understood(line.result.message), self.price)  # type: ignore[attr-defined]  # else caught
        except AttributeError:
            return Unavailable("bad_response", "a result of the batch holds no message")
        except Unavailable as unfinished:
            return unfinished

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        try:
            return self._loop.run(work)
        except CancelledError as error:
            raise interrupted() from error

    def _wait(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise interrupted()


def halved(price: Price) -> Price:
    """The price in a batch."""
    return Price(**{name: HALF * value for name, value in price.model_dump().items()})


class _BatchReply(BaseModel):
    type: str
    message: str


class _Error(BaseModel):
    error: _BatchReply


class _Kind(BaseModel):
    type: str
    error: _Error | None = None


class _BatchLine(BaseModel):
    custom_id: str
    result: _Kind


def _line(line: object) -> _BatchLine | None:
    """A line of the results, if it is one: it crossed a network."""
    try:
        raw = line.model_dump(mode="json", exclude_unset=True, warnings=False)  # type: ignore[attr-defined]  # else caught
        return _BatchLine.model_validate(raw)
    except (AttributeError, ValidationError):
        return None
