"""For pytest, found through the entry point ``pytest11``: fixtures, and skills and banks as tests.

::

    def test_our_trainer_accumulates_as_it_should(grade):
        assert grade(Path("train.py")).code == "right"

``pytest --skill DIR`` makes each example of a skill an item, ``--bank DIR`` each scenario.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.domain.answer import AnswerGrade
    from harness.domain.instruments import OpenInstruments
    from harness.interface import Grader
    from harness.pytest_items import Subjects

SUBJECTS: "pytest.StashKey[Subjects]" = pytest.StashKey()
"""The skills and banks of this session, and the instruments that all its items share."""

OPEN: "pytest.StashKey[OpenInstruments]" = pytest.StashKey()
"""What opens the instruments, where another plugin has its own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--skill`` and ``--bank``."""
    group = parser.getgroup("harness", "skills and banks of gradient-skill-harness")
    said = "with no paths beside it, nothing else is collected"
    group.addoption(
        "--skill",
        action="append",
        default=[],
        metavar="DIR",
        help=f"execute each example of this skill or Markdown page; {said}",
    )
    group.addoption(
        "--bank",
        action="append",
        default=[],
        metavar="DIR",
        help=f"check each scenario of this bank against itself; {said}",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read what is named, once; a mistake in it is one sentence."""
    named = [*config.getoption("--skill"), *config.getoption("--bank")]
    if not named:
        return
    from harness.domain.errors import UserError
    from harness.instruments import jail_and_oracle
    from harness.pytest_items import Subjects

    try:
        config.stash[SUBJECTS] = Subjects(
            [_place(config, name) for name in config.getoption("--skill")],
            [_place(config, name) for name in config.getoption("--bank")],
            config.stash.get(OPEN, jail_and_oracle),
        )
    except UserError as error:
        raise pytest.UsageError(f"harness: {error}") from error
    if config.args_source != pytest.Config.ArgsSource.ARGS:
        paths = [str(_place(config, name)) for name in named]
        typed = any(arg.startswith(("--skill", "--bank")) for arg in config.invocation_params.args)
        config.args = paths if typed else [*config.args, *paths]


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the jail."""
    if SUBJECTS in config.stash:
        config.stash[SUBJECTS].close()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """The tests that judge a scenario's answers belong into the jail: here is no ``answer``."""
    judges = collection_path.name == "test_answer.py"
    return True if judges and collection_path.with_name("scenario.yaml").exists() else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A page of a skill that is named, or a scenario of a bank that is."""
    subjects = parent.config.stash.get(SUBJECTS, None)
    return subjects.collector(file_path, parent) if subjects is not None else None


@pytest.fixture(scope="session")
def grader(request: pytest.FixtureRequest) -> "Iterator[Grader]":
    """One warm ``harness.Grader`` for the whole session."""
    from harness.interface import Grader  # here: most sessions of pytest never ask for it

    subjects = request.config.stash.get(SUBJECTS, None)
    if subjects is None:
        with Grader() as opened:
            yield opened
    else:
        with Grader(open_instruments=lambda _: nullcontext(subjects.tools)) as opened:
            yield opened


@pytest.fixture
def grade(grader: "Grader") -> "Callable[..., AnswerGrade]":
    """``grade(path_or_text, scenario=None)``: one answer, graded. See ``harness.Grader.grade``."""
    from harness.domain.errors import UserError

    def graded(given: Any, scenario: str | None = None) -> "AnswerGrade":
        __tracebackhide__ = True  # a mistake is shown at the line of the test that makes it
        try:
            return grader.grade(given, scenario)
        except UserError as error:
            raise error.with_traceback(None) from None

    return graded


def _place(config: pytest.Config, name: str) -> Path:
    return Path(config.invocation_params.dir, name).resolve()
