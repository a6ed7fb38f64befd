"""One program, tested three times over: the posted one, the answer's, and the posted one again.

The posted program is the control: in the process that the answer's program has been in, its tests
have to end as before. Nothing is read from a report: each test is told over the channel when it has
ended, with how many of its assertions held.
"""

import contextlib
import io
import os
import sys
import types
from collections.abc import Callable
from typing import Any, Literal

from harness.domain.event import Finished, TestEnded
from harness.sandbox.machine import arguments
from harness.sandbox.tested.tampering import Fingerprint, changed, fingerprint

MODULE = "answer"
"""What tests import."""

FILE = "test_answer.py"
"""The tests."""

LONGEST = 600
"""Characters of a message that are kept."""

RAN = (0, 1)
"""Exit codes of pytest where all tests passed, and where some failed."""

Tell = Callable[[TestEnded], None]
TestedTurn = Literal["before", "answer", "after"]

OPTIONS = (
    "--noconftest", "--import-mode=importlib", "-c", os.devnull, "-s",
    "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:terminal", "-p", "no:junitxml",
    "-o", "enable_assertion_pass_hook=true",
)  # fmt: skip
"""Nothing that lies about is read: no configuration, no conftest, no plugin that is installed."""


def test_program(program: str, tests: str, posted: str, tell: Tell) -> tuple[Finished, str | None]:
    """Test a program; how that ended, and what it replaced of what it is tested with."""
    import pytest

    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="")
    sys.dont_write_bytecode = True
    arguments.as_given()
    main = pytest.main
    _tested(main, posted, tests, "before", tell)
    known: Fingerprint = fingerprint()
    finished = _tested(main, program, tests, "answer", tell)
    found = changed(known, fingerprint())
    _tested(main, posted, tests, "after", tell)
    return finished, found


def _tested(
    main: Callable[..., Any], program: str, tests: str, turn: TestedTurn, tell: Tell
) -> Finished:
    """Run the tests of one program. What keeps all of them from running is told as a test without a
    name.
    """
    folder = os.path.abspath(turn)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, FILE), "w", encoding="utf-8") as writer:
        writer.write(tests)
    there = set(sys.modules)
    try:
        _import(program, folder)
        said = _run(main, folder, _Teller(turn, tell))
    except BaseException as error:  # noqa: BLE001 - whatever importing it raises, SystemExit too
        said = f"it cannot be imported: {type(error).__name__}: {error}"
    if said:
        message = said[:LONGEST]
        tell(
            TestEnded(name="", run=turn, outcome="error", message=message, line=None, assertions=0)
        )
    for name in set(sys.modules) - there:  # the next turn imports the tests anew
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
            del sys.modules[name]
    return Finished(outcome="returned")


def _import(program: str, folder: str) -> None:
    module = types.ModuleType(MODULE)
    module.__file__ = os.path.join(folder, f"{MODULE}.py")
    sys.modules[MODULE] = module
    exec(compile(program, module.__file__, "exec"), vars(module))


def _run(main: Callable[..., Any], folder: str, teller: "_Teller") -> str:
    """Run the tests in a folder; why that could not be done, if so."""
    places = (f"--rootdir={folder}", f"--confcutdir={folder}")
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(io.StringIO()) as complaints:
            code = int(main([FILE, *OPTIONS, *places], plugins=[teller]))
    finally:
        os.chdir(os.path.dirname(folder))
    return "" if code in RAN else f"pytest ended with {code}: {complaints.getvalue()}"


class _Teller:
    """A plugin that tells of each test, and counts the assertions that held."""

    def __init__(self, turn: TestedTurn, tell: Tell) -> None:
        self._turn, self._tell = turn, tell
        self._held: dict[str, int] = {}

    def pytest_assertion_pass(self, item: Any, lineno: int, orig: str, expl: str) -> None:
        """An assertion held."""
        self._held[item.nodeid] = self._held.get(item.nodeid, 0) + 1

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test ended: its call, or a fixture that failed."""
        if report.when != "call" and report.outcome == "passed":
            return
        name = report.nodeid.rpartition("::")[2]
        told: Literal["passed", "failed", "skipped", "error"] = report.outcome
        if report.when != "call" and told == "failed":
            told = "error"
        if hasattr(report, "wasxfail"):
            told = "skipped"
        place = getattr(report.longrepr, "reprcrash", None)
        self._tell(
            TestEnded(
                name=name,
                run=self._turn,
                outcome=told,
                message=str(getattr(place, "message", "") or report.longrepr or "")[:LONGEST],
                line=getattr(place, "lineno", None),
                assertions=self._held.get(report.nodeid, 0),
            )
        )

    def pytest_collectreport(self, report: Any) -> None:
        """The file of tests could not be imported."""
        if report.failed:
            said = str(report.longrepr)[-LONGEST:]
            self._tell(
                TestEnded(
                    name="", run=self._turn, outcome="error", message=said, line=None, assertions=0
                )
            )
