"""What the oracle makes of real programs that step twice, or leave a batch out."""

import pytest

from harness.domain.event import ENOUGH
from tests.quality.judging import SCENARIOS, Court

PADDING = SCENARIOS["padding-and-accumulation"]


def test_a_second_step_consumes_the_gradient_of_the_window_before(court: Court) -> None:
    """It has no micro-batch of its own, and still a gradient with the names of the model."""
    twice = PADDING.reference.replace("optimizer.step()", "optimizer.step(); optimizer.step()")

    found = court.judged(PADDING, twice)

    again = found.trace.probes[0].updates[1]
    assert again.window_size == 0
    assert [round(m.coefficient or 0.0, 4) for m in again.micro_batches] == [1.0] * 4
    assert "one-update-per-window" in found.failed


def test_a_batch_that_never_enters_the_model_is_lost_when_its_pass_went_to_the_end(
    court: Court,
) -> None:
    """Collected for a window that never filled up: no backward ever shows it."""
    dropped = PADDING.reference.replace(" and i + 1 < len(train_loader)", "")

    rank = court.judged(PADDING, dropped).trace.probes[0].ranks[0]

    assert (rank.batches_lost, rank.lost_at_end, rank.batches_yielded) == (2, 2, 14)


def test_batches_that_are_left_over_when_a_program_stops_early_are_not_lost(court: Court) -> None:
    """Somebody wanted ten batches, not all."""
    few = PADDING.reference.replace("window.append(", "if i == 12: break\n    window.append(")

    rank = court.judged(PADDING, few).trace.probes[0].ranks[0]

    assert rank.batches_lost == 0


def test_what_the_harness_cuts_off_is_not_lost(court: Court) -> None:
    """On a slow machine it ends a program within a batch: no batch of it is the program's fault."""
    gan = SCENARIOS["gan-two-optimizers"]
    first, ended = "        loss_d.backward()", f"if i == 4: raise SystemExit({ENOUGH!r})"
    cut = gan.reference.replace("for real, _ in train", "for i, (real, _) in enumerate(train")
    cut = cut.replace("train_loader:", "train_loader):").replace(first, f"        {ended}\n{first}")

    found = court.judged(gan, cut)

    assert [p.ranks[0].batches_lost for p in found.trace.probes] == [0, 0]
    assert "no-batch-lost" not in found.failed


TWO_PASSES = """
from itertools import islice

def windows():
    for _ in range(num_epochs):
        stream = iter(train_loader)
        yield from iter(lambda: tuple(islice(stream, 4)), ())

for number, window in enumerate({windows}):
    if number == {left_out}:
        continue
    for x, y in window:
        (criterion(model(x), y) / len(window)).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("windows", "left_out", "lost"),
    [("windows()", -1, 0), ("list(windows())", -1, 0), ("windows()", 1, 4)],
)
def test_the_next_pass_brings_no_batch_back_that_was_left_out(
    court: Court, windows: str, left_out: int, lost: int
) -> None:
    """A whole window of the first pass; the second hands the same samples out again, for itself. What is
    collected over both passes and used afterwards is not lost.
    """
    program = TWO_PASSES.format(windows=windows, left_out=left_out)
    found = court.judged(SCENARIOS["scheduler-with-accumulation"], program)

    assert found.trace.probes[0].ranks[0].batches_lost == lost


def test_gradient_that_flows_back_twice_through_one_graph_is_counted(court: Court) -> None:
    """And the weight is that of both."""
    plain = SCENARIOS["clip-after-step"]
    twice = plain.reference.replace(
        "loss.backward()", "loss.backward(retain_graph=True); loss.backward()"
    )

    (one,) = court.judged(plain, twice).trace.probes[0].updates[0].window
    (usual,) = court.judged(plain, plain.reference).trace.probes[0].updates[0].window

    assert (one.backwards, usual.backwards) == (2, 1)
    assert one.weight == pytest.approx(2.0, rel=1e-4)


@pytest.mark.full
def test_a_schedule_that_moves_between_backward_and_step_is_early(court: Court) -> None:
    """After the step it is in time; a rate of 0 is none that could be lost."""
    asked = SCENARIOS["scheduler-with-accumulation"]
    after = "            optimizer.step()\n            optimizer.zero_grad()\n            scheduler.step()"
    before = "            scheduler.step()\n            optimizer.step()\n            optimizer.zero_grad()"
    assert after in asked.reference
    early = asked.reference.replace(after, before)
    resting = early.replace("scheduler =", "optimizer.param_groups[0]['lr'] = 0.0\nscheduler =")

    def counted(program: str) -> set[int]:
        probe = court.judged(asked, program).trace.probes[0]
        return {
            u.scheduled_early for u in probe.updates[1:]
        }  # an optimizer is known once it stepped

    assert counted(asked.reference) == {0}
    assert counted(early) == {1}
    assert counted(resting) == {0}


@pytest.mark.full
def test_updates_after_the_last_read_of_a_clock_are_training(court: Court) -> None:
    """Those between two reads are timed; after a single read everything is."""
    plain = SCENARIOS["clip-after-step"]
    body = plain.reference.partition("for x, y")[2]
    loop = f"for x, y{body}\n"
    head = "import time\nimport torch\n"
    read = "time.perf_counter()\n"

    def timed(program: str) -> list[bool]:
        probe = court.judged(plain, head + program).trace.probes[0]
        return [u.timed for u in probe.updates][::8]

    assert timed(read + loop + read + loop) == [True, False]
    assert timed(loop + read + loop) == [False, True]


def test_padding_that_has_a_part_in_the_loss_shows_in_the_output_gradient(court: Court) -> None:
    """A row of padding with a label of its own."""
    trained = PADDING.reference.replace("target, reduction", "target.clamp(min=0), reduction")
    trained = trained.replace(" * mask).sum()", ").sum()")

    first = court.judged(PADDING, trained).trace.probes[0].updates[0]
    usual = court.judged(PADDING, PADDING.reference).trace.probes[0].updates[0]

    assert all(m.on_padding > 0.1 for m in first.window)
    assert {m.on_padding for m in usual.window} == {0.0}
