"""Stands in for Ray: its actors answer from threads of this process, or are lost."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Answer = Callable[[str, tuple[Any, ...]], Any]
"""What a node answers to a method and what it is given; what it raises is a loss of its actor."""


class RayError(Exception):
    """An actor or a node is gone."""


class RayTaskError(RayError):
    """What an actor raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class _Exceptions:
    RayError: type[RayError] = RayError
    RayTaskError: type[RayTaskError] = RayTaskError


@dataclass(frozen=True)
class _Strategies:
    def NodeAffinitySchedulingStrategy(self, *, node_id: str, soft: bool) -> str:  # noqa: N802
        assert not soft
        return node_id


@dataclass(frozen=True)
class _Util:
    scheduling_strategies: _Strategies = field(default_factory=_Strategies)


class FakeRay:
    """Nodes of some cores each, and what their actors answer."""

    exceptions = _Exceptions()
    util = _Util()

    def __init__(self, answers: Mapping[str, Answer], cores: int = 2) -> None:
        """``answers``: by node."""
        self.answers = dict(answers)
        self.cores = cores
        self.started: list[tuple[str, int]] = []
        """Node and cores of every actor."""
        self.put_there: list[Any] = []
        self.lock = Lock()

    def nodes(self) -> list[dict[str, Any]]:
        """All of them live."""
        return [
            {"NodeID": n, "NodeManagerHostname": n, "Alive": True, "Resources": {"CPU": self.cores}}
            for n in list(self.answers)
        ]

    def remote(self, kind: type) -> "_Kind":
        """A class whose objects are actors."""
        return _Kind(self, kind)

    def put(self, value: Any) -> Any:
        """It travels nowhere."""
        self.put_there.append(value)
        return value

    def get(self, answer: "Future[Any]") -> Any:
        """Waits."""
        return answer.result()

    def wait(
        self, answers: Sequence["Future[Any]"], timeout: float
    ) -> tuple[list["Future[Any]"], None]:
        """Those that are there."""
        return list(wait(answers, timeout, FIRST_COMPLETED).done), None

    def kill(self, actor: "_Actor") -> None:
        """What it owes will never come."""
        for answer in actor.owed:
            if not answer.done():
                answer.set_exception(RayError("killed"))


@dataclass
class _Kind:
    ray: FakeRay
    kind: type
    wanted: dict[str, Any] = field(default_factory=dict)

    def options(self, **wanted: Any) -> "_Kind":
        return _Kind(self.ray, self.kind, wanted)

    def remote(self, cores: int) -> "_Actor":
        node = self.wanted["scheduling_strategy"]
        assert self.wanted["num_cpus"] == cores
        self.ray.started.append((node, cores))
        return _Actor(self.ray, node)


@dataclass
class _Actor:
    ray: FakeRay
    node: str
    owed: list["Future[Any]"] = field(default_factory=list)

    def __getattr__(self, method: str) -> "_Method":
        return _Method(self, method)


@dataclass
class _Method:
    actor: _Actor
    name: str

    def remote(self, *given: Any) -> "Future[Any]":
        answer: Future[Any] = Future()
        self.actor.owed.append(answer)
        try:
            found = self.actor.ray.answers[self.actor.node](self.name, given)
        except Exception as error:  # noqa: BLE001 - whatever a node does
            answer.set_exception(error)
        else:
            if found is not None:  # `None`: it never answers
                answer.set_result(found)
        return answer
