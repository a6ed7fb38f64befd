"""The same program gets the same verdicts, to the last digit, however busy the machine is."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.quality.judging import SCENARIOS, Court

TIMES = 20


@pytest.mark.full
@pytest.mark.parametrize(
    ("scenario", "which"),
    [
        ("ddp-accumulation-no-sync", "reference"),  # ranks that wait for each other
        ("all-three-techniques", "reference"),  # half precision
        ("clipping-overhead", "buggy"),  # a program that reads the clock
    ],
)
def test_twenty_judgements_two_at_a_time_are_identical(
    court: Court, scenario: str, which: str
) -> None:
    """Outcomes, sentences and numbers of twenty executions agree, with both cores busy."""
    asked = SCENARIOS[scenario]
    program = asked.buggy if which == "buggy" else asked.reference

    def judged(_: int) -> str:
        verdicts = court.judge_anew(asked, program).verdicts
        return "\n".join(verdict.model_dump_json() for verdict in verdicts)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(judged, range(TIMES)))

    assert len(found) == TIMES
    assert set(found) == {found[0]}
