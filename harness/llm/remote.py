"""What asking a provider's SDK has in common: slots, pauses, retries, limits of cost.

Asynchronous inside, synchronous for its callers.
"""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from harness.domain.errors import UsageError
from harness.domain.model import Completion, Tool, Turn, Unavailable
from harness.domain.transcript import Usage
from harness.llm.failures import SdkExceptions, asked_pause, may_pass, unavailable
from harness.llm.loop import LoopThread
from harness.llm.meter import CostMeter, Reservation
from harness.llm.prices import Price, load_prices


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """How hard to try."""

    parallel: int = 4
    """Requests at the same time."""
    attempts: int = 6
    """How often one request is made before it is given up."""
    first_pause: float = 0.5
    """Seconds before the second attempt where the provider names none; doubled each time."""
    longest_pause: float = 120.0
    """Seconds; a provider that asks for more is not waited for."""
    timeout: float = 600.0
    """Seconds for one attempt."""


class RemoteModel(ABC):
    """One model behind an SDK. A provider says how it is asked, and what its answer says."""

    raised: ClassVar[SdkExceptions]
    """The exceptions of the SDK."""

    def __init__(self, model: str, meter: CostMeter, limits: ClientLimits | None = None) -> None:
        """Connects to nothing yet.

        Raises:
            UsageError: there is no key, or a limit of cost for a model whose price is not known.
        """
        self.name = model
        self.meter = meter
        self.price = load_prices().of(model)
        self._limits = limits or ClientLimits()
        if meter.limit is not None and self.price is None:
            raise UsageError(no_price(model))
        self._connect(self._limits.timeout)
        self._slots = threading.BoundedSemaphore(self._limits.parallel)
        self._closed = threading.Event()
        self._pause_until = 0.0
        self._loop = LoopThread()

    @abstractmethod
    def _connect(self, timeout: float) -> None:
        """Make the SDK's client."""

    @abstractmethod
    def _request(
        self, system: str, turns: Sequence[Turn], tools: Sequence[Tool], max_tokens: int
    ) -> Coroutine[Any, Any, object]:
        """One question to the provider."""

    @abstractmethod
    def _read(self, reply: object) -> tuple[Usage, Completion | Unavailable]:
        """What a reply cost and says; it crossed a network."""

    @abstractmethod
    def _end(self) -> Coroutine[Any, Any, None]:
        """End the SDK's client."""

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools: Sequence[Tool] = ()
    ) -> Completion:
        """The next turn. Passing failures are tried again.

        Raises:
            Unavailable: there is none.
        """
        worst = at_most(self.price, system, turns, tools, max_tokens)
        with self._slots:
            for attempt in range(1, self._limits.attempts + 1):
                self._wait_out_pause()
                with self.meter.room_for(worst) as room:
                    try:
                        return self._once(room, system, turns, tools, max_tokens)
                    except self.raised.base as error:
                        failure = unavailable(error, self.raised)
                        if failure.kind == "timeout":  # perhaps it was written, and is billed
                            room.settle(worst)
                        pause = self._pause(error, attempt)
                if pause is None:
                    raise failure
                self._pause_until = max(self._pause_until, time.monotonic() + pause)
        raise AssertionError("the last attempt has no pause")

    def close(self) -> None:
        """Break off what is under way. Whoever waits gets ``Unavailable`` (``interrupted``)."""
        self._closed.set()
        self._loop.close(self._end())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _once(
        self,
        room: Reservation,
        system: str,
        turns: Sequence[Turn],
        tools: Sequence[Tool],
        max_tokens: int,
    ) -> Completion:
        if self._closed.is_set():
            raise interrupted()
        try:
            reply = self._loop.run(self._request(system, turns, tools, max_tokens))
        except CancelledError as error:
            raise interrupted() from error
        usage, answer = self._read(reply)
        self.meter.count(usage, priced=self.price is not None)
        room.settle(self.price.of(usage) if self.price else 0.0)
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    def _pause(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the next attempt; ``None`` when there is to be none."""
        if attempt == self._limits.attempts or not may_pass(error, self.raised):
            return None
        asked = asked_pause(error, self.raised)
        if asked is not None:
            return asked if asked <= self._limits.longest_pause else None
        pause = self._limits.first_pause * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.0)
        return min(pause, self._limits.longest_pause)

    def _wait_out_pause(self) -> None:
        """A pause is everybody's: who asks on while the provider is overloaded makes it worse."""
        while (left := self._pause_until - time.monotonic()) > 0:
            if self._closed.wait(left):
                raise interrupted()


_FEWEST_BYTES_A_TOKEN = 2
"""English and code have 3 to 4; a limit needs the other side of caution."""

_OVERHEAD = 1000
"""Tokens that the provider adds for tools."""


def at_most(
    price: Price | None,
    system: str,
    turns: Sequence[Turn],
    tools: Sequence[Tool],
    max_tokens: int,
) -> float:
    """The most that one attempt can cost, in US dollars; 0 where the price is not known."""
    if price is None:
        return 0.0
    said = [system, *(t.model_dump_json() for t in turns), *(t.model_dump_json() for t in tools)]
    most = sum(len(text.encode()) for text in said) // _FEWEST_BYTES_A_TOKEN + _OVERHEAD
    return _dearest(price, most, max_tokens)


def _dearest(price: Price, read: int, written: int) -> float:
    dear = price.model_copy(update={"input": max(price.input, price.cache_write)})
    return dear.of(Usage(input=read, output=written))


def refuse_address(variable: str, address: str) -> None:
    """What the SDK makes of an address that is none depends on the fault; this does not."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{variable} is no address of a server: {address}")


def interrupted() -> Unavailable:
    """What whoever waits gets when all is broken off."""
    return Unavailable("interrupted", "the question was broken off")


def no_price(model: str) -> str:
    """Why a limit of cost is refused."""
    return (
        f"the price of {model} is not known, so a limit of cost cannot be kept: leave out "
        f"--max-cost, or choose one of {', '.join(load_prices().models)}"
    )
