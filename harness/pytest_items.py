"""Examples of a skill and scenarios of a bank as items of pytest."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, Self

import pytest

from harness.checking.checker import OneByOne
from harness.checking.folder import load_skill
from harness.domain.errors import HarnessFault
from harness.domain.instruments import Instruments, OpenInstruments
from harness.domain.scenario import Bank, Scenario
from harness.domain.skill import Example, Page
from harness.runner import Settings, run_bank
from harness.scenarios import load_bank


class Subjects:
    """The skills and banks of a session. Its instruments start with the first item that runs."""

    def __init__(
        self,
        skills: Sequence[Path],
        banks: Sequence[Path],
        open_instruments: OpenInstruments,
    ) -> None:
        """Reads all of them.

        Raises:
            UserError: one cannot be read.
        """
        self._pages: dict[Path, tuple[OneByOne, Page]] = {}
        self._scenarios: dict[Path, tuple[Bank, Scenario]] = {}
        self._open_instruments = open_instruments
        self._open = ExitStack()
        self._tools: Instruments | None = None
        for place in skills:
            self._add_skill(place)
        for place in banks:
            bank = load_bank(place)
            for one in bank.scenarios:
                self._scenarios[place / one.id / "scenario.yaml"] = bank, one

    @property
    def tools(self) -> Instruments:
        """What executes and measures; open from the first call."""
        if self._tools is None:
            self._tools = self._open.enter_context(self._open_instruments(1))
        return self._tools

    def close(self) -> None:
        """End what was started."""
        self._open.close()
        self._tools = None

    def collector(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """What collects a file; ``None`` for one that is no part of them."""
        if path in self._pages:
            checks, page = self._pages[path]
            return _SkillPage.of(parent, path, self, checks=checks, page=page)
        if path in self._scenarios:
            bank, scenario = self._scenarios[path]
            return _ScenarioFile.of(parent, path, self, bank=bank, scenario=scenario)
        return None

    def _add_skill(self, place: Path) -> None:
        skill = load_skill(place)
        checks = OneByOne(skill)
        folder = place if place.is_dir() else place.parent
        for page in skill.pages:
            self._pages[folder / page.file] = checks, page


class _Sentence(Exception):
    """What an item failed for: a reader needs no traceback."""


class _Item(pytest.Item):
    """Fails by a sentence."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, _Sentence):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


# ------------------------------------------------------------------------------- examples of a skill

_FAILED = {"fails": "claim fails", "fault": "fault"}
_SKIPPED = {
    "inconclusive": "inconclusive",
    "cannot-be-run": "cannot be run",
    "pseudo-code": "is no program",
}


class _SkillPage(pytest.File):
    """One Markdown file of a skill."""

    subjects: Subjects
    checks: OneByOne
    page: Page

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, subjects: Subjects, **given: Any) -> Self:
        made = cls.from_parent(parent, path=path)
        vars(made).update(given, subjects=subjects)
        return made

    def collect(self) -> Iterator["_ExampleItem"]:
        seen = Counter[str]()
        for example in self.page.examples:
            name = _slug(example)
            seen[name] += 1
            numbered = name if seen[name] == 1 else f"{name}-{seen[name]}"
            item = _ExampleItem.from_parent(self, name=numbered)
            item.example = example
            yield item


class _ExampleItem(_Item):
    """One block: passes where it runs and does what its author says."""

    example: Example
    parent: _SkillPage

    def runtest(self) -> None:
        found = self.parent.checks.check(self.example, self.parent.subjects.tools)
        said = [
            f"{self.parent.nodeid}:{part.line}: {_FAILED[part.status]}: {part.sentence}"
            for part in found.parts
            if part.status in _FAILED
        ]
        if said:
            raise _Sentence("\n".join(said))
        if found.status in _SKIPPED:
            why = next(part.sentence for part in found.parts if part.status == found.status)
            pytest.skip(f"{_SKIPPED[found.status]}: {why}")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.example.line - 1, self.name


def _slug(example: Example) -> str:
    """By the heading above it: a line would change with every edit, and ``--lf`` with it."""
    heading = example.headings[-1] if example.headings else "top"
    return re.sub(r"[^\w]+", "-", heading.lower()).strip("-") or "block"


# ------------------------------------------------------------------------------ scenarios of a bank


class _ScenarioFile(pytest.File):
    """One scenario's file."""

    subjects: Subjects
    bank: Bank
    scenario: Scenario

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, subjects: Subjects, **given: Any) -> Self:
        made = cls.from_parent(parent, path=path)
        vars(made).update(given, subjects=subjects)
        return made

    def collect(self) -> Iterator["_ScenarioItem"]:
        yield _ScenarioItem.from_parent(self, name=self.scenario.id)


class _ScenarioItem(_Item):
    """Passes where the posted loop fails as declared and the fix is right."""

    parent: _ScenarioFile

    def runtest(self) -> None:
        part = self.parent.bank.model_copy(update={"scenarios": (self.parent.scenario,)})
        tools = self.parent.subjects.tools
        outcome = run_bank(part, Settings(jobs=1), lambda _: nullcontext(tools))
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.faults:
            raise HarnessFault(outcome.faults[0].sentence)
        for one in outcome.run.not_run:
            pytest.skip(one.why)
        said = [sentence for result in outcome.run.results for sentence in result.surprises]
        if said:
            raise _Sentence("\n".join(said))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name
