"""What all tests share: `--full`, under which corpora run and a skip is a failure; a server; what
`hypothesis` may ask of a machine.

Without ``--full`` the tests marked ``full`` are left out: what is left is the specification, in minutes.
Without ``--every`` those marked ``every`` are, which are more of what the others are already.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from harness.collecting import uncollected
from tests.fakes.messages_server import MessagesServer
from tests.sampling import kept_of

# As it comes, an example that takes a fifth of a second is a failure, and each run draws its own examples.
STEADY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("specification", STEADY, max_examples=12)
settings.register_profile("whole", STEADY, max_examples=100)

FEW = 2
"""Cases of a table that are run where the whole suite is asked for and each case runs a program."""

WARM_TOGETHER = ("tests/sandbox/world/", "tests/sandbox/test_", "tests/adversarial/")
"""What their files share is one process that takes as long to start as they all take to run."""

RUNS_PROGRAMS = "executor"
"""The fixture that stands behind tests that run programs on torch."""

if TYPE_CHECKING:
    from harness.domain.instruments import OpenInstruments
    from harness.sandbox.executor import JailedExecutor
    from harness.sandbox.pool import Sandbox
    from tests.quality.judging import Court


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that an earlier run or the user's own commands have kept decides a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Two jobs at a time in a warm jail, with a worker that only runs the program."""
    from harness.sandbox.pool import Sandbox

    with Sandbox(worker="tests.fakes.exec_worker", parallel=2) as running:
        yield running


# Imports torch, which most tests do without: that is why it is imported here and not above.
@pytest.fixture(scope="session")
def executor() -> Iterator[JailedExecutor]:
    """One warm jail for all programs of a process; those that a test starts itself are its subject."""
    from harness.sandbox.executor import JailedExecutor

    with JailedExecutor(parallel=2) as running:
        yield running


@pytest.fixture(scope="session")
def warm(executor: JailedExecutor) -> Iterator[OpenInstruments]:
    """The real jail and the real oracle for commands, started once for all of a process:
    ``CliRunner().invoke(app, command, obj=warm)``.
    """
    from harness.domain.instruments import Instruments
    from harness.oracle.client import Oracle

    with Oracle(workers=1) as oracle:
        oracle.warm()
        tools = Instruments(executor, oracle)
        yield lambda jobs: nullcontext(tools)


@pytest.fixture(scope="session")
def graded(warm: OpenInstruments) -> Callable[..., tuple[int, list[dict[str, Any]]]]:
    """``harness grade --json``: its exit code, and an object for each program."""
    from typer.testing import CliRunner

    from harness.cli import app

    def call(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
        result = CliRunner().invoke(app, ["grade", "--json", *map(str, arguments)], obj=warm)
        return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]

    return call


@pytest.fixture(scope="session")
def court(executor: JailedExecutor) -> Court:
    """Executes, measures and judges; remembers what it has judged."""
    from tests.quality.judging import open_court

    return open_court(executor)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    """A server that the SDK takes for the API."""
    with MessagesServer().running() as running:
        running.pose_as_api(monkeypatch)
        yield running


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="run the tests marked `full` too; a skip is a failure"
    )
    parser.addoption(
        "--every", action="store_true", help="the same, and the tests marked `every`: an hour"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.option.full |= config.option.every
    settings.load_profile("whole" if config.getoption("--full") else "specification")


def left_out(config: pytest.Config) -> dict[str, str]:
    """Markers whose tests do not run here, and why."""
    reasons = {}
    if not config.getoption("--full"):
        reasons["full"] = "they run in `make test-full`"
    if not config.getoption("--every"):
        reasons["every"] = "they run in `make test-every`"
    if "HARNESS_REAL_MODEL" not in os.environ:
        reasons["model"] = "HARNESS_REAL_MODEL names no command of a language model"
    return reasons


class _ByWhatIsWarm(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """A file runs in one process, and so do files that share what takes seconds to start."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        shared = (folder for folder in WARM_TOGETHER if file.startswith(folder))
        return next(shared, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return _ByWhatIsWarm(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_report_header(config: pytest.Config) -> list[str]:
    lines = [f"left out: tests marked `{m}` ({why})" for m, why in left_out(config).items()]
    if not config.getoption("--full"):
        lines.append(f"of a table that runs programs: {FEW} cases; all where a file is named")
    return lines


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """A fifth of it went into looking for cycles among thirteen thousand tests that stay anyway."""
    with uncollected():
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unwanted = left_out(config)
    wanted = [item for item in items if not any(map(item.get_closest_marker, unwanted))]
    if not config.getoption("--full") and config.args == config.getini("testpaths"):
        wanted = few_of_each_table(wanted)
    kept = set(wanted)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = wanted


def few_of_each_table(items: list[pytest.Item]) -> list[pytest.Item]:
    """Without most cases of a long table whose test runs programs: ``FEW`` of them, evenly spread,
    unless it is marked ``whole``. Whoever names a file or a test gets all of them.
    """
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if RUNS_PROGRAMS in getattr(item, "fixturenames", ()) and not _runs_whole(item):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left = {item for cases in tables.values() for item in cases}
    for cases in tables.values():
        left -= {cases[i] for i in kept_of(len(cases), min(FEW, len(cases)))}
    return [item for item in items if item not in left]


def _runs_whole(item: pytest.Item) -> bool:
    return item.get_closest_marker("whole") is not None


# Outermost, to see the report when pytest has finished with it: an expected failure passes through
# as skipped as well, and is told apart by `wasxfail`.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.config.getoption("--full") and not hasattr(report, "wasxfail"):
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if collector.config.getoption("--full"):
        _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome == "skipped":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason} (under --full nothing may be skipped)"
