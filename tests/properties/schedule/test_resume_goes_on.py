"""A run that is taken up goes on with its optimizer's memory and at its rates, or is wrong."""

import pytest

from harness.domain.resumption import Held, Resumption, StepTaken
from harness.properties.own.reading import own_settings
from tests.fakes.traces import probe, program, quiet_and_loud
from tests.properties.verdicts import on

ID = "resume-goes-on"
WARM_UP = [0.01 * (n + 1) for n in range(16)]


def held(memory: int = 4, weights: float = 2.0, moves: int | None = None, **more) -> Held:
    schedule = "LambdaLR" if moves is not None else ""
    return Held(
        optimizer=0, kind="Adam", elements=10, remembers=memory, weights=weights,
        schedule=schedule, moves=moves, **more,
    )  # fmt: skip


def steps(rates, first: Held, epochs, gradients: int = 4) -> tuple[StepTaken, ...]:
    """One for each rate; four are an epoch."""
    return tuple(
        StepTaken(
            optimizer=0, rates=(rate,), with_gradient=gradients, held=None if n else first,
            numbers={"epoch": epoch, "best_epoch": 2},
        )
        for n, (rate, epoch) in enumerate(zip(rates, epochs, strict=False))
    )  # fmt: skip


def run(rates, now: Held, then: Held | None = None, epoch: int = 2, gradients: int = 4, **more):
    """Saved after eight updates of a warm-up, and taken up with these rates and this optimizer."""
    before = steps(WARM_UP, held(0, 1.0), [n // 4 for n in range(16)])
    after = steps(rates, now, [epoch] * len(rates), gradients)
    found = Resumption(before=before, saved=8, at_save=(then or held(),), after=after, **more)
    end = program("returned").model_copy(update={"resumption": found})
    return quiet_and_loud().model_copy(update={"resumed": probe("resumed", program=end)})


GOES_ON, BEGINS = WARM_UP[8:12], WARM_UP[:4]


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (run(GOES_ON, held(0), has_memory=True), "remembers nothing"),
        (run(BEGINS, held()), "the rates of its first updates"),
        (run([WARM_UP[8], *BEGINS[1:]], held(moves=0), held(moves=8)), "counts its schedule"),
        (run(GOES_ON, held(weights=1.0), gradients=0), "made anew after its optimizer"),
        (run(GOES_ON, held(0), in_itself=True, has_memory=True, places=(2,)), "remembers nothing"),
    ],
    ids=["memory", "rates", "schedule", "model", "in one run"],
)
def test_what_begins_anew_is_wrong(trace, said):
    verdict = on(ID, trace)

    assert verdict.outcome == "fail"
    assert said in verdict.sentence


@pytest.mark.parametrize(
    "trace",
    [
        run(GOES_ON, held()),
        run(WARM_UP[7:11], held()),
        run(GOES_ON, held(moves=0), held(moves=8)),
        run([0.5, 0.4, 0.3, 0.2], held()),
        run(GOES_ON, held(0), held(0)),
        run(GOES_ON, held(0)),
    ],
    ids=[
        "as it was",
        "a step behind",
        "a rate from its place",
        "other rates",
        "no memory",
        "unsaved",
    ],
)
def test_what_goes_on_is_right(trace):
    """A memory that a program never saves is its choice."""
    assert on(ID, trace).outcome == "pass"


@pytest.mark.parametrize(
    "trace",
    [
        run(BEGINS, held(0), epoch=0),
        run(BEGINS, held(0, weights=3.0)),
        run(BEGINS, held(0), in_itself=True, places=(2,)),
        run(BEGINS, held(0), in_itself=True, has_memory=True, places=(9,)),
        quiet_and_loud(),
    ],
    ids=["no place", "other weights", "no memory saved", "a place of its own", "not run"],
)
def test_who_takes_up_no_place_with_its_weights_is_not_judged(trace):
    assert on(ID, trace).outcome == "inconclusive"
    assert not own_settings(trace).resumes
