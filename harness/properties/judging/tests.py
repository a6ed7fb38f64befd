"""Verdicts of a pytest file: one for each of its tests, from what came out of the jail.

A test passes where it ran to its end with an assertion that held, where the program replaced nothing
that tests judge with, and where the posted program, tested in the same process before and after it,
ended alike both times.
"""

from collections.abc import Iterable, Mapping, Sequence

from harness.domain.event import TestEnded
from harness.domain.scenario import Expectations, PropertyRule
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

PREFIX = "test_"
"""How the name of a test begins."""


def with_tests(
    known: Mapping[str, Property], rules: Iterable[PropertyRule]
) -> Mapping[str, Property]:
    """All properties, and those that tests of the scenario are."""
    tests = [rule.id for rule in rules if rule.id.startswith(PREFIX) and rule.id not in known]
    return {**known, **{name: _property(name) for name in tests}} if tests else known


def _property(name: str) -> Property:
    def judge(trace: Trace, expectations: Expectations) -> Verdict:
        del expectations
        return _judged(name, trace)

    return Property(id=name, description=f"The test {name} passes.", judge=judge, rests_on="facts")


def _judged(name: str, trace: Trace) -> Verdict:
    for probe in trace.probes:
        lost = (one for one in probe.tests if one.run == "before" and not one.name)
        if (none := next(lost, None)) is not None:
            return inconclusive(name, f"Its tests cannot be run: {' '.join(none.message.split())}")
        if probe.tampered is not None:
            return inconclusive(
                name,
                f"The program replaces {probe.tampered}, with which it is tested, so that no test says "
                "anything.",
            )
        seen = [one for one in probe.tests if one.run == "answer" and _is(one, name)]
        return _of_one(name, seen, probe)
    return inconclusive(name, "No test was run.")


def _of_one(name: str, seen: Sequence[TestEnded], probe: ProbeTrace) -> Verdict:
    """What one test says, with all its parameters."""
    wrong = next((one for one in seen if one.outcome in ("failed", "error")), None)
    if wrong is not None:
        return _broken(name, wrong)
    if not seen or any(one.outcome != "passed" or not one.assertions for one in seen):
        how = "it did not run" if not seen else "it was skipped, or asserted nothing"
        return inconclusive(name, f"The test cannot be counted: {how}.")
    if (other := _unlike(probe)) is not None:
        return inconclusive(
            name,
            f"After the program had run, {other} ended otherwise on the posted program than before, "
            "so that no test says anything.",
        )
    held = sum(one.assertions for one in seen)
    return passed(name, f"{count(held, 'assertion')} held.", number("assertions", held))


def _is(one: TestEnded, name: str) -> bool:
    """Whether it is the test, with whatever parameters, or what kept all tests from running."""
    return one.name.partition("[")[0] in (name, "")


def _broken(name: str, wrong: TestEnded) -> Verdict:
    said = " ".join(wrong.message.split())
    where = f" (line {wrong.line} of the tests)" if wrong.line is not None else ""
    return failed(name, f"{wrong.name or 'The program'}: {said}{where}")


def _unlike(probe: ProbeTrace) -> str | None:
    """A test that ended otherwise on the posted program the second time."""
    before, after = (
        {one.name: one.outcome for one in probe.tests if one.run == turn}
        for turn in ("before", "after")
    )
    if not before:
        return "every test"
    differ = (n for n in sorted({*before, *after}) if before.get(n) != after.get(n))
    return next((n or "importing it" for n in differ), None)
