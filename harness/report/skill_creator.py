"""The files of Anthropic's skill-creator, written: ``evals.json`` of a bank, ``benchmark.json`` of two
runs.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from statistics import mean, stdev
from typing import Any

from harness.domain.errors import UsageError
from harness.domain.scenario import Criterion, Scenario
from harness.domain.stored import StoredAnswer
from harness.report.reported import Report, ReportSide, outcomes

CODE_RIGHT = "The proposed program, executed on real torch, trains as asked."
"""What execution decides, as an expectation in words."""

_UNNAMED = re.compile(r"eval (\d{1,9})")
_CONFIGURATIONS = ("without_skill", "with_skill")
"""The names that its viewer knows, the old run first."""


def render_evals(scenarios: Sequence[Scenario], skill: str) -> str:
    """``evals.json``: each scenario's message with what its rubric asks for."""
    evals = [
        {
            "id": number,
            "name": one.id,
            "prompt": one.prompt,
            "expected_output": one.title,
            "files": [],
            "expectations": [CODE_RIGHT, *map(_expectation, one.rubric)],
        }
        for number, one in enumerate(scenarios, start=1)
    ]
    return _written({"skill_name": skill, "evals": evals})


def render_benchmark(report: Report) -> str:
    """``benchmark.json``: the old run as ``without_skill``, the new one as ``with_skill``. What is
    inconclusive or unanswered is no run of it; the notes count both.

    Raises:
        UsageError: there are not two runs.
    """
    if len(report.sides) != 2:
        raise UsageError("benchmark.json compares two runs: name the old and the new one")
    numbers = _numbers(report.asked)
    by_name = {
        name: list(_runs(side, name, numbers, report.scenarios))
        for name, side in zip(_CONFIGURATIONS, report.sides, strict=True)
    }
    summary: dict[str, Any] = {name: _summary(runs) for name, runs in by_name.items()}
    old, new = (summary[name]["pass_rate"]["mean"] for name in _CONFIGURATIONS)
    summary["delta"] = {"pass_rate": f"{new - old:+.2f}"}
    side = report.sides[1]
    skill = side.head.skill
    return _written(
        {
            "metadata": {
                "skill_name": skill.name if skill else "",
                "skill_path": "",
                "executor_model": side.head.agent or side.name,
                "analyzer_model": "",
                "evals_run": list(numbers.values()),
                "runs_per_configuration": max((len(a) for a in side.answers.values()), default=0),
            },
            "runs": [run for name in reversed(_CONFIGURATIONS) for run in by_name[name]],
            "run_summary": {name: summary[name] for name in (*reversed(_CONFIGURATIONS), "delta")},
            "notes": [*report.notes, *map(_left_out, report.sides)],
        }
    )


def _expectation(criterion: Criterion) -> str:
    asked = " ".join(criterion.asks.split())
    return asked if criterion.polarity == "must" else f"Does not do this: {asked}"


def _numbers(asked: Iterable[str]) -> dict[str, int]:
    """An eval that has no name keeps its number; the others get those that are free, in order."""
    own = {name: int(found[1]) for name in asked if (found := _UNNAMED.fullmatch(name))}
    free = (number for number in count(1) if number not in own.values())
    return {name: own[name] if name in own else next(free) for name in asked}


def _runs(
    side: ReportSide, name: str, numbers: Mapping[str, int], known: Mapping[str, Scenario]
) -> Iterator[dict[str, Any]]:
    for scenario, answers in side.answers.items():
        for trial, stored in answers.items():
            if stored.outcome in ("right", "wrong", "none"):
                told = list(_graded(stored, known.get(scenario)))
                yield {
                    "eval_id": numbers[scenario],
                    "eval_name": scenario,
                    "configuration": name,
                    "run_number": trial,
                    "result": _result(told, stored),
                    "expectations": told,
                    "notes": list(stored.answer.notes),
                }


def _graded(stored: StoredAnswer, scenario: Scenario | None) -> Iterator[dict[str, Any]]:
    answer = stored.answer
    failed = [name for name, outcome in outcomes(answer).items() if outcome == "fail"]
    why = "; ".join(answer.reasons) or "every property that judges holds"
    yield {"text": CODE_RIGHT, "passed": stored.outcome == "right", "evidence": why}
    asked = {one.id: _expectation(one) for one in (scenario.rubric if scenario else ())}
    for name, one in answer.criteria.items():
        if one.state != "unassessed":
            said = f"execution: {', '.join(failed) or 'nothing'} fails"
            passed = one.state == "met"
            yield {"text": asked.get(name, name), "passed": passed, "evidence": said}


def _result(told: Sequence[Mapping[str, Any]], stored: StoredAnswer) -> dict[str, Any]:
    passed = sum(bool(one["passed"]) for one in told)
    used = stored.transcript.usage if stored.transcript is not None else None
    return {
        "pass_rate": round(passed / len(told), 4),
        "passed": passed,
        "failed": len(told) - passed,
        "total": len(told),
        "time_seconds": 0.0,
        "tokens": used.input + used.output if used is not None else 0,
        "tool_calls": 0,
        "errors": 0,
    }


def _summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return {
        key: _spread([run["result"][key] for run in runs])
        for key in ("pass_rate", "time_seconds", "tokens")
    }


def _spread(values: Iterable[float]) -> dict[str, float]:
    found = [*values] or [0.0]
    spread = stdev(found) if len(found) > 1 else 0.0
    figures = {"mean": mean(found), "stddev": spread, "min": min(found), "max": max(found)}
    return {name: round(value, 4) for name, value in figures.items()}


def _left_out(side: ReportSide) -> str:
    tally = side.count()
    return (
        f"{side.name}: {tally.inconclusive} inconclusive and {tally.unanswered} unanswered"
        " are not among the runs"
    )


def _written(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
