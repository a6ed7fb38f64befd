"""The arms of a comparison: what is asked with which skill, all at once or in rounds."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.app import print_faults
from harness.cli.asking import Asked, AskOptions
from harness.domain.comparison import Arm, Comparison
from harness.domain.errors import UsageError, reason
from harness.domain.instruments import OpenInstruments
from harness.domain.plan import Rules
from harness.domain.scenario import Bank
from harness.report.console import Output
from harness.store import is_run
from harness.store.whole import write_whole
from harness.untrusted import read_bytes

if TYPE_CHECKING:
    from harness.domain.answer import Batch

INTERRUPTED = 130

ARMS = "arms.json"
"""Beside the folders of the arms: their names, the old one first."""

_Asking = tuple[dict[str, Path], dict[str, Asked], OpenInstruments]
"""Where each arm is stored, how it is asked, and what opens the instruments."""


def arms_of(common: AskOptions, skills: Sequence[str], *, aa: bool) -> dict[str, AskOptions]:
    """What to ask, by the name of each arm."""
    if aa:
        asks = [replace(with_skill(common, skills[0]), replicate=name) for name in ("a", "b")]
        return dict(zip(("a", "b"), asks, strict=True))
    if len(skills) < 2:
        raise UsageError("compare needs --skill at least twice, old first; once with --aa")
    arms: dict[str, AskOptions] = {}
    for number, skill in enumerate(skills, start=1):
        name = Path(skill).name if skill != "none" else "none"
        arms[name if name not in arms else f"{name}-{number}"] = with_skill(common, skill)
    return arms


def with_skill(ask: AskOptions, skill: str) -> AskOptions:
    """The same question with that skill, or with ``none``."""
    if skill == "none":
        return replace(ask, skill=None, delivery="none")
    return replace(ask, skill=Path(skill))


def refuse_unreadable(arms: dict[str, AskOptions]) -> None:
    """Of no arm only when the arms before it have been asked, and paid for."""
    from harness.agents.skill_text import load_skill_text

    for ask in arms.values():
        if ask.skill is not None:
            load_skill_text(ask.skill)


def arm_in(folder: Path) -> Arm:
    """A stored run as an arm."""
    from harness.store import load_run
    from harness.store.arms import arm_of

    with load_run(folder) as run:
        return arm_of(run)


def arms_below(places: Sequence[Path]) -> list[Path]:
    """The arms of a folder that ``compare --out`` wrote, in their order; other places as they are."""
    if len(places) != 1 or is_run(places[0]) or not places[0].is_dir():
        return [*places]
    try:
        names = json.loads(read_bytes(places[0] / ARMS, 1 << 20))
    except (OSError, ValueError, RecursionError):
        return [*places]
    if not isinstance(names, list):
        return [*places]
    below = {path.name: path for path in places[0].iterdir() if is_run(path)}
    return [below[name] for name in names if isinstance(name, str) and name in below] or [*places]


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks for arms, each into a folder of its own."""

    bank: Bank
    """What is asked."""
    out: Path | None
    """Where the runs are stored; ``None``: only for as long as they are compared."""
    open_instruments: OpenInstruments
    """Opens what runs the programs."""
    rules: Rules
    """What is fixed before looking."""
    anyway: bool
    """Whether to look at what differs in more than the skill."""

    @contextmanager
    def at_once(self, arms: dict[str, AskOptions]) -> Iterator[list[Path]]:
        """Every trial of one arm, then of the next."""
        with self._asking(arms) as (folders, asked, tools):
            self._round(arms, folders, asked, tools, next(iter(arms.values())).trials)
            yield [*folders.values()]

    @contextmanager
    def in_rounds(self, arms: dict[str, AskOptions]) -> Iterator[list[Path]]:
        """Round by round, the first arm and those whose answer is not clear yet."""
        from harness.comparison import looks_of

        with self._asking(arms) as (folders, asked, tools):
            first, *rest = arms
            for trials in looks_of(arms[first].trials):
                self._round((first, *rest), folders, asked, tools, trials)
                rest = [name for name in rest if self._goes_on(folders[first], folders[name])]
                if not rest:
                    break
            yield [*folders.values()]

    @contextmanager
    def _asking(self, arms: dict[str, AskOptions]) -> Iterator[_Asking]:
        """What each arm will take is said before any is asked."""
        from harness.instruments import opened_once

        with (
            self._folders(arms) as folders,
            opened_once(self.open_instruments) as tools,
            ExitStack() as opened,
        ):
            asked = {}
            for name, ask in arms.items():
                Output(stderr=True).text(f"harness: arm {name}")
                asked[name] = opened.enter_context(Asked.of(ask, self.bank))
            yield folders, asked, tools

    def _round(
        self,
        names: Iterable[str],
        folders: dict[str, Path],
        asked: dict[str, Asked],
        tools: OpenInstruments,
        trials: int,
    ) -> None:
        """All trials up to one, of each of these arms; their questions go out together in a batch."""
        chosen = [(asked[name], folders[name]) for name in names]
        with ExitStack() as held:
            batches = None
            if chosen[0][0].how.batch:
                from harness.cli.batching import group_of_run, handed_in

                groups = [group_of_run(arm, self.bank, at, trials) for arm, at in chosen]
                limits = chosen[0][0].asking.limits
                batches = held.enter_context(handed_in(groups, limits))
            for arm, folder in chosen:
                Output(stderr=True).text(f"harness: asking, arm {folder.name}")
                self._whole(arm.ask(self.bank, folder, tools, trials))
            if batches is not None:
                batches.finish()

    def _goes_on(self, old: Path, new: Path) -> bool:
        """Whether another round is to be asked; what the last one showed is printed."""
        from harness.comparison import compare
        from harness.report.rounds import render_look

        found: Comparison = compare(arm_in(old), arm_in(new), self.rules, anyway=self.anyway)
        looks = found.rounds.looks if found.rounds else ()
        if looks:
            Output(stderr=True).text(f"harness: {new.name}, {render_look(looks[-1])}")
        return not looks or looks[-1].stop == "goes on"

    @contextmanager
    def _folders(self, arms: dict[str, AskOptions]) -> Iterator[dict[str, Path]]:
        with tempfile.TemporaryDirectory() as scratch:
            root = self.out if self.out is not None else Path(scratch)
            _keep_order(root, arms)
            yield {name: root / name for name in arms}

    def _whole(self, batch: "Batch") -> None:
        """Nothing is compared unless everything was asked, read and stored."""
        print_faults(batch.faults, all_traces=False)
        if batch.interrupted:
            kept = f"; what was answered is in {self.out}" if self.out is not None else ""
            Output(stderr=True).text(f"harness: interrupted; nothing is compared{kept}")
            raise typer.Exit(INTERRUPTED)
        if batch.unread:
            raise UsageError(f"{batch.unread[0]}; without every reply nothing is compared")
        if batch.unstored:
            raise UsageError(f"{batch.unstored[0]}; without every answer nothing is compared")


def _keep_order(root: Path, names: Iterable[str]) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
        write_whole(root / ARMS, json.dumps([*names]).encode())
    except OSError as error:
        raise UsageError(f"{root}: cannot be written: {reason(error)}") from error
