"""What ``harness grade`` prints: a few lines an answer for people, one object a line for programs."""

import json
import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from harness.domain.answer import Alternative, AnswerGrade, Tally, reasons_of
from harness.domain.assessment import UNREAD
from harness.domain.grade import Grade
from harness.domain.own import OF_ITS_OWN, OWN, OwnSettings
from harness.domain.reported import AnswerLine
from harness.domain.stored import RunHead
from harness.domain.wording import placed, plainly
from harness.report.verbose import render_verdicts
from harness.report.words import READ, clean, indented, text

_WORDS = {
    "right": ("code right", "bold green"),
    "wrong": ("code wrong", "bold red"),
    "inconclusive": ("inconclusive", "bold yellow"),
    "none": ("no code", "bold yellow"),
}

_OWN_WORDS = {name: ("inconclusive" if name == "inconclusive" else said.removeprefix("code "), style)
              for name, (said, style) in _WORDS.items()}  # fmt: skip

_STATES = {
    ("must", "met"): ("met", "green"),
    ("must", "not_met"): ("missed", "yellow"),
    ("must", "unassessed"): ("not assessed", "dim"),
    ("must_not", "met"): ("avoided", "green"),
    ("must_not", "not_met"): ("committed", "yellow"),
    ("must_not", "unassessed"): ("not assessed", "dim"),
}

MOST_NAMES = 40
"""How many lent names are told."""

ROLE = re.compile(r"^(?P<names>[\w., ]+): (?P<role>.+)$")


def render_answer(answer: AnswerGrade, *, verbose: bool, show_program: bool) -> RenderableType:
    """A headline with the outcome, and under it the reasons for it."""
    return Group(*_answer(answer, verbose=verbose, show_program=show_program))


def render_line(answer: AnswerGrade) -> str:
    """The same as one JSON object, without a character that steers a terminal."""
    line = json.dumps(AnswerLine.of(answer).model_dump(mode="json"), ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def render_tally(tally: Tally, *, asked: bool = False) -> RenderableType:
    """How many answers had which outcome. ``asked``: an agent was, and whoever gives no code to a
    question about code is not right.
    """
    counts = {name: getattr(tally, name) for name in _WORDS}
    said = [f"{count} {_WORDS[name][0]}" for name, count in counts.items() if count]
    if tally.not_graded:
        said.append(f"{tally.not_graded} not graded")
    told = ", ".join(said) or "no answers"
    judged = tally.right + tally.wrong + tally.none
    if asked and tally.none:
        told = f"{tally.right} of {judged} right: {told}"
    return Text(told, "bold")


def render_head(head: RunHead) -> RenderableType:
    """How a run was made, in two lines."""
    asked = f"{head.agent}, " if head.agent else ""
    skill = f"skill {head.skill.name} by {head.skill.delivery}, " if head.skill else ""
    return text(
        f"{asked}{skill}bank {head.bank_digest[:12]}, judge {head.judge}, seed {head.seed}, "
        f"harness {head.harness_version}, torch {head.torch_version}",
        "dim",
    )


def settings_line(settings: OwnSettings) -> str:
    """``its settings: accumulates over 4 micro-batches, ...``."""
    return f"its settings: {settings.sentence}"


def lent_line(notes: Sequence[str]) -> str:
    """``lent to it: model, train_loader; calls train(model)``, or that nothing was; and which files of
    its own it had.
    """
    own = [note.removeprefix(OF_ITS_OWN) for note in notes if note.startswith(OF_ITS_OWN)]
    found = "; ".join(lent([note for note in notes if not note.startswith(OF_ITS_OWN)]))
    beside = f". Beside it: {', '.join(own)}" if own else ""
    return f"lent to it: {found or 'nothing'}{beside}"


def lent(notes: Sequence[str]) -> Iterator[str]:
    """Names with their roles first, then what else was mapped, replaced or shortened."""
    named = {note: found for note in notes if (found := ROLE.match(note))}
    if named:
        names = [_name(m["names"], m["role"]) for m in named.values()]
        more = len(names) - MOST_NAMES
        yield ", ".join([*names[:MOST_NAMES], *([f"and {more} more"] if more > 0 else [])])
    yield from (note for note in notes if note not in named)


def _answer(answer: AnswerGrade, *, verbose: bool, show_program: bool) -> Iterator[RenderableType]:
    if answer.error is not None:
        why = clean(f"not graded: {answer.error}")
        yield Text.assemble((clean(answer.file), "bold"), ": ", (why, "red"))
        return
    words, style = (_OWN_WORDS if answer.scenario == OWN else _WORDS)[answer.code]
    beside = ", by its own settings" if answer.scenario == OWN else f"  {answer.scenario}"
    yield Text.assemble(
        (clean(answer.file), "bold"), ": ", (words, style), f"{beside}{_rubric(answer)}"
    )
    yield from (indented(note, "dim") for note in _notes(answer))
    for alternative in answer.alternatives:
        if len(answer.alternatives) > 1:
            said, colour = _WORDS[alternative.grade.code]
            yield indented(f"{alternative.origin}: {said}", colour)
        elif verbose or show_program:
            yield indented(alternative.origin, "dim")
        yield from _grade(alternative.grade, verbose=verbose)
        yield from (indented(note, "dim") for note in alternative.grade.notes)
        if alternative.settings is not None:
            yield indented(settings_line(alternative.settings), "dim")
            yield indented(lent_line(alternative.lent), "dim")
        yield from _story(alternative)
        if show_program:
            yield Padding.indent(text(alternative.as_run or alternative.program), 6)
    yield from _criteria(answer, verbose=verbose)


def _notes(answer: AnswerGrade) -> Iterator[str]:
    if answer.repaired_on_request:
        yield "repaired only once a runnable form was asked for"
    elif answer.turn == "second":
        yield "judged by the runnable form that was asked for"
    if answer.how:
        yield f"no scenario: {answer.how}" if answer.scenario == OWN else f"scenario {answer.how}"
    if answer.no_code is not None:
        yield answer.no_code
    yield from answer.reading
    if answer.skill_triggered is not None:
        yield f"the skill: {READ[answer.skill_triggered]}"


def _grade(grade: Grade, *, verbose: bool) -> Iterator[RenderableType]:
    if grade.reason is not None:
        yield indented(plainly(grade.reason))
    if verbose:
        yield from render_verdicts(grade)
        return
    for sentence in reasons_of(grade) if grade.reason is None else ():
        name, _, rest = sentence.partition(": ")
        mark = _mark(name, grade)
        yield indented(f"{name}{mark}: {rest}", "" if mark else "red" * (grade.code == "wrong"))


def _mark(name: str, grade: Grade) -> str:
    """That a failure does not count, and why where somebody allowed it."""
    if name not in grade.advisory:
        return ""
    why = next((v.allowed for v in grade.verdicts if v.property == name), None)
    return f" (allowed: {why})" if why else " (advisory)"


def _criteria(answer: AnswerGrade, *, verbose: bool) -> Iterator[RenderableType]:
    """What was missed or committed, with what was found; with ``verbose`` all, and why not assessed."""
    for name, criterion in answer.criteria.items():
        if not verbose and (criterion.state != "not_met" or criterion.weight == "bonus"):
            continue
        said, style = _STATES[criterion.polarity, criterion.state]
        yield indented(f"{name}: {said}", style)
        if criterion.quote:
            yield Padding.indent(text(f"found: {_short(criterion.quote)}", "dim"), 6)
        elif criterion.reason:
            yield Padding.indent(text(_short(criterion.reason), "dim"), 6)
    for excuse in answer.rationalizations:
        yield indented(f"excuse: {_short(excuse.quote)}", "yellow")
        yield Padding.indent(text(f"instead: {excuse.instead.strip()}", "dim"), 6)


def _short(said: str, most: int = 300) -> str:
    words = " ".join(said.split())
    return words if len(words) <= most else f"{words[:most]} ..."


def _story(alternative: Alternative) -> Iterator[RenderableType]:
    if alternative.grade.code == "wrong" and alternative.story:
        place, *lines = alternative.story
        yield indented(f"what happened {placed(place)}", "dim")
        yield from (Padding.indent(text(line, "dim"), 6) for line in lines)


def _rubric(answer: AnswerGrade) -> str:
    """``, criteria met 2 of 3, 5 unassessed (give --judge)``; ``, none of 5 criteria assessed``."""
    criteria = answer.criteria.values()
    states = [criterion.state for criterion in criteria]
    if not states:
        return ""
    decided, open_ = len(states) - states.count("unassessed"), states.count("unassessed")
    hint = " (give --judge)" if any(c.reason == UNREAD for c in criteria) else ""
    if not decided:
        return f", none of {open_} criteria assessed{hint}"
    return f", criteria met {states.count('met')} of {decided}, {open_} unassessed{hint}"


def _name(name: str, role: str) -> str:
    return name if role.replace(" ", "_") == name else f"{name} ({role})"
