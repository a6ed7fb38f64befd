"""Connects to a Ray cluster and opens its instruments, as ``harness.instruments`` opens local ones."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.cluster.bank_code import code_to_send
from harness.cluster.graders import Graders
from harness.cluster.node_grader import NodeGrader, NodeWelcome
from harness.cluster.nodes import ClusterNode, nodes_of, pinned
from harness.cluster.sameness import FOLDER, HarnessBuild
from harness.domain.errors import UsageError
from harness.domain.instruments import Instruments
from harness.domain.packages import how_to_get

HERE = "ray"
"""The engine that is a cluster of this machine, or the one that ``RAY_ADDRESS`` names."""

FAR = "ray://"
"""How the address of a cluster begins."""

ANSWERS = 120.0
"""Seconds in which a node has to say what it offers."""

OBJECTS = 128 << 20
"""Bytes of shared memory of a cluster that is started here: what travels is small."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that this process is connected to."""

    ray: Any
    """The module."""
    most: int | None
    """Cores that may be used; ``None`` for all."""
    say: Callable[[str], None]
    """Takes a sentence about a node, for a reader."""

    @property
    def cores(self) -> int:
        """How many programs run at the same time."""
        there = sum(node.cores for node in self.nodes)
        return max(1, min(there, self.most or there))

    @property
    def nodes(self) -> tuple[ClusterNode, ...]:
        """Those that are alive."""
        return nodes_of(self.ray)

    def welcomes(self) -> Iterator[tuple[ClusterNode, NodeWelcome | str]]:
        """What each node says to whoever would grade on it, or why it says nothing."""
        asked = []
        for node in self.nodes:  # without a claim to cores: a busy node answers too
            actor = self.ray.remote(NodeGrader).options(
                num_cpus=0, scheduling_strategy=pinned(self.ray, node)
            )
            grader = actor.remote(1)
            asked.append((node, grader, grader.open.remote(HarnessBuild.here(), code_to_send())))
        for node, grader, answer in asked:
            try:
                yield node, self.ray.get(answer, timeout=ANSWERS)
            except self.ray.exceptions.RayError as error:
                yield node, str(error).strip().partition("\n")[0]
            self.ray.kill(grader)

    @contextmanager
    def open_instruments(self, jobs: int) -> Iterator[Instruments]:  # noqa: ARG002 (``most`` rules)
        """Both instruments of the cluster, and its judges of whole answers.

        Raises:
            CannotExecuteHere: none of its nodes can run programs.
        """
        with Graders(self.ray, self.most, self.say) as graders:
            notes = graders.wait_for_one()
            yield Instruments(graders, graders, notes, graders.propose)


@contextmanager
def connected(engine: str, most: int | None, say: Callable[[str], None]) -> Iterator[Cluster]:
    """A cluster for as long as it is used; one that was started here ends then.

    Raises:
        UsageError: ``engine`` names none, none answers, or Ray is not installed.
    """
    if engine != HERE and (not engine.startswith(FAR) or engine == FAR):
        raise UsageError(f"--engine {engine}: expected local, ray or ray://HOST:PORT")
    ray = _quiet_ray(engine)
    named = os.environ.get("RAY_ADDRESS") if engine == HERE else engine
    try:
        with warnings.catch_warnings(action="ignore"):  # what matters of it is raised as well
            if named:
                _join(ray, None if engine == HERE else engine)
            else:
                _start(ray, most)
    except (ConnectionError, RuntimeError, ValueError, ImportError) as error:
        said = str(error).strip().partition("\n")[0]
        raise UsageError(f"--engine {engine}: no cluster at {named or HERE}: {said}") from error
    try:
        yield Cluster(ray, most, say)
    finally:
        ray.shutdown()


def _quiet_ray(engine: str) -> Any:
    """The module, which else says how it starts, and on standard output which nodes are lost."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise UsageError(f"--engine {engine} {how_to_get(['ray'])}") from error
    ray._private.worker._worker_logs_enabled = False  # noqa: SLF001 - there is no other way
    return ray


def _start(ray: Any, most: int | None) -> None:
    ray.init(
        address="local",
        num_cpus=most or os.cpu_count() or 1,
        object_store_memory=OBJECTS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )


def _join(ray: Any, address: str | None) -> None:
    """The harness travels to every node that takes part. ``None``: where ``RAY_ADDRESS`` says."""
    travels = {"py_modules": [str(FOLDER)], "excludes": ["**/__pycache__", "bank"]}
    ray.init(address=address, runtime_env=travels, log_to_driver=False, logging_level=logging.ERROR)
