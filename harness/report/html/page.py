"""Puts the page together: templates, style and script in one file.

Whatever comes out of an answer is text here. Three things see to that: the templates escape by
themselves, characters that steer a terminal are replaced, and the page forbids its reader every
script but its own and every request.
"""

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness import __version__
from harness.domain.wording import placed, plainly
from harness.report.differing import DiffRow, both, program_of, side_by_side
from harness.report.html.answers import Drawing, scenario_views
from harness.report.html.headline import headlines_of
from harness.report.html.kills import kill_matrix_of
from harness.report.html.matrix import matrix_of
from harness.report.pictures import effect_picture
from harness.report.power import in_reach
from harness.report.reported import WORDS, Report, tally_in_words
from harness.report.words import READ, chance, clean, signed

_HERE = Path(__file__).parent
_SIDES: tuple[Literal["old", "new"], ...] = ("old", "new")


def render_page(report: Report, *, most_pictures: int = 60) -> str:
    """The whole file.

    ``most_pictures``: for how many programs pictures are drawn, those of wrong answers first; a
    picture takes about a millisecond and 3 kB.
    """
    drawing = Drawing(report, most_pictures)
    return (
        templates()
        .get_template("page.html")
        .render(
            report=report,
            matrix=matrix_of(report),
            scenarios=scenario_views(report, drawing),
            headlines=headlines_of(report),
            undrawn=drawing.left_out,
            effect=effect_picture(report.comparison) if report.comparison else None,
            reach=_reach(report),
            differences=_differences(report),
            kills=kill_matrix_of(report.quality) if report.quality else None,
            **style(),
            script=_script(),
            script_hash=_hash(_script()),
        )
    )


@cache
def templates() -> Environment:
    """Templates that escape by themselves."""
    templates = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(plainly=plainly, placed=placed)
    templates.globals.update(
        words=WORDS, signed=signed, chance=chance, tally_in_words=tally_in_words, read=READ
    )
    return templates


def style() -> dict[str, str]:
    """What every page needs: the style sheet, and the version that made it."""
    return {"style": (_HERE / "page.css").read_text(encoding="utf-8"), "version": __version__}


def _printable(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _script() -> str:
    return (_HERE / "page.js").read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _differences(report: Report) -> list[tuple[DiffRow, ...]]:
    """Of each change of the code how two programs differ; nothing of the other changes."""
    found = report.comparison
    if found is None or len(report.sides) != len(_SIDES):
        return []
    programs = {
        (side, scenario, trial): program_of(stored)
        for side, answers in zip(_SIDES, report.sides, strict=True)
        for scenario, trials in answers.answers.items()
        for trial, stored in trials.items()
    }
    pairs = (
        both(programs, change.scenario, change.example) if change.kind == "code" else None
        for change in found.changes
    )
    return [() if pair is None else (*side_by_side(*pair),) for pair in pairs]


def _reach(report: Report) -> str | None:
    found = report.comparison
    return in_reach(found.reach, found.rules) if found and found.reach else None
