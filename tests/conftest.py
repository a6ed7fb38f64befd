"""What all tests share: `--full`, under which everything runs and a skip is a failure; a server; what
`hypothesis` may ask of a machine.
"""

import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.fakes.messages_server import MessagesServer

# As it comes, an example that takes a fifth of a second is a failure, and each run draws its own examples.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    """A server that the SDK takes for the API."""
    with MessagesServer().running() as running:
        running.pose_as_api(monkeypatch)
        yield running


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="run tests marked `full` too; a skip is a failure"
    )


def pytest_report_header() -> str | None:
    if "HARNESS_REAL_MODEL" in os.environ:
        return None
    return (
        "left out: tests marked `model` (HARNESS_REAL_MODEL names no command of a language model)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "HARNESS_REAL_MODEL" not in os.environ:
        left_out = [item for item in items if item.get_closest_marker("model")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if config.getoption("--full"):
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="needs more than pip brings: make test-full"))


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
