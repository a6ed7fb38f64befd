"""What is written down of losses, of backward and of schedules, in the real jail."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.event import Backward, SchedulerStep
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.sandbox.executor import JailedExecutor

WORKLOAD = WorkloadSpec(name="mlp", parameters={"target_scale": 0.2, "batches": 4}, seed=3)
PROBE = Probe(name="probe", lifts="")

LOOP = """
for x, y in train_loader:
    optimizer.zero_grad()
    {backward}
    {step}
"""


def run(executor: JailedExecutor, program: str) -> Recording:
    recording = executor.execute(Candidate(program=program, origin="test"), WORKLOAD, PROBE)
    assert recording.problem is None
    return recording


def backwards(executor: JailedExecutor, backward: str) -> list[Backward]:
    recording = run(executor, LOOP.format(backward=backward, step="optimizer.step()"))
    return [e.event for e in recording.ranks[0].events if isinstance(e.event, Backward)]


def factors(executor: JailedExecutor, backward: str) -> set[float | None]:
    """What each loss was multiplied by, over what torch's loss function had returned for it."""
    recording = run(executor, LOOP.format(backward=backward, step="optimizer.step()"))
    (rank,) = measure(recording, WORKLOAD, PROBE, Expectations()).ranks
    assert len(rank.backwards) == 4
    return {None if b.factor is None else round(b.factor, 4) for b in rank.backwards}


def test_backward_is_told_what_torchs_loss_functions_had_returned(
    executor: JailedExecutor,
) -> None:
    """Each mean once, before the program divides it in place; a sum over one column stands for the mean
    of what it adds up, one over a few columns for nothing, and what carries no gradient is none of
    them.
    """
    means = """
    with torch.no_grad():
        criterion(model(x), y)
    one, other = criterion(model(x), y), torch.nn.functional.mse_loss(model(x), y)
    torch.nn.functional.mse_loss(model(x), y, reduction='sum')
    torch.nn.functional.mse_loss(model(x).sum(1), y.sum(1), reduction='sum')
    one.div_(4).backward()"""
    events = backwards(executor, means.strip())
    assert len(events) == 4
    for event in events:
        (root,) = event.roots
        *means, of_a_sum = event.returned
        assert means == [("mse_loss", pytest.approx(4 * (root or 0.0)))] * 2
        assert of_a_sum[0] == "mse_loss"


@pytest.mark.parametrize(
    ("backward", "factor"),
    [
        ("criterion(model(x), y).backward()", 1.0),
        ("(criterion(model(x), y) / 4).backward()", 0.25),
        ("criterion(model(x), y).backward(torch.tensor(0.25))", 0.25),
        ("criterion(model(x), y).backward(gradient=torch.tensor(0.25))", 0.25),
        ("torch.autograd.backward([criterion(model(x), y)], [torch.tensor(0.25)])", 0.25),
        ("(criterion(model(x), y) / 2).backward(torch.tensor(0.5))", 0.25),
        (
            "s = nn.MSELoss(reduction='sum'); (s(model(x)[:, 0], y[:, 0]) / (4 * len(y))).backward()",
            0.25,
        ),
        (
            "s = nn.MSELoss(reduction='none'); (s(model(x)[:, 0], y[:, 0]).mean() / 4).backward()",
            0.25,
        ),
        ("(nn.functional.mse_loss(model(x), y, reduction='sum') / len(y)).backward()", None),
        ("((model(x) - y) ** 2).mean().backward()", None),
        ("l = criterion(model(x), y); (l + (l / 4 - l).detach()).backward()", 1.0),
        ("(criterion(model(x), y) / 4 + 0.1 * model[0].weight.norm()).backward()", 0.25),
        ("l = criterion(model(x), y) / 4; l.register_hook(lambda g: g * 4); l.backward()", 1.0),
    ],
)
def test_a_factor_on_the_loss_is_seen_however_it_is_spelt(
    executor: JailedExecutor, backward: str, factor: float | None
) -> None:
    assert factors(executor, backward) == {factor}


HALVED = "torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 0.5 ** n)"
STEP = "optimizer.step(); scheduler.step()"


def steps(executor: JailedExecutor, program: str) -> list[SchedulerStep]:
    events = (e.event for e in run(executor, program).ranks[0].events)
    return [e for e in events if isinstance(e, SchedulerStep)]


def loop(before: str, step: str = STEP) -> str:
    return before + LOOP.format(backward="criterion(model(x), y).backward()", step=step)


def test_a_step_of_a_schedule_tells_the_rate_before_and_after(executor: JailedExecutor) -> None:
    """The one that its construction makes is no step; where it is told which step it is, there is no
    before.
    """
    seen = steps(executor, loop(f"scheduler = {HALVED}"))
    first = seen[0].before[0]
    assert [s.before[0] / first for s in seen] == [1.0, 0.5, 0.25, 0.125]
    assert [s.learning_rates[0] / first for s in seen] == [0.5, 0.25, 0.125, 0.0625]

    told = loop(f"scheduler = {HALVED}", "optimizer.step(); scheduler.step(3)")
    assert [s.before for s in steps(executor, told)] == [()] * 4


def test_a_step_that_says_where_it_is_goes_as_many_places(executor: JailedExecutor) -> None:
    """To the batch's own index, say; a part of a step is one, and so is standing still."""
    told = loop(f"n = 0\nscheduler = {HALVED}", "optimizer.step(); n += 4; scheduler.step(n)")
    assert [s.positions for s in steps(executor, told)] == [4] * 4
    still = loop(f"scheduler = {HALVED}", "optimizer.step(); scheduler.step(0)")
    assert [s.positions for s in steps(executor, still)] == [1] * 4


FALLING = "torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=8)"
RISING = "torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=2)"


@pytest.mark.parametrize(
    ("schedule", "length"),
    [
        (FALLING, 8),
        (RISING, None),
        ("torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=6)", 6),
        (f"torch.optim.lr_scheduler.ChainedScheduler([{RISING}, {FALLING}])", 8),
        (f"torch.optim.lr_scheduler.SequentialLR(optimizer, [{RISING}, {FALLING}], [2])", 10),
        (f"torch.optim.lr_scheduler.SequentialLR(optimizer, [{FALLING}, {RISING}], [2])", None),
    ],
)
def test_the_length_of_a_schedule_is_that_of_its_way_down(
    executor: JailedExecutor, schedule: str, length: int | None
) -> None:
    seen = steps(executor, loop(f"scheduler = {schedule}"))
    assert {s.planned for s in seen} == {length}


STEPPED = "(criterion(model(torch.zeros(2, 8)), torch.zeros(2, 3))).backward(); optimizer.step()"
REBUILT = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
WRAPPED = """
class Wrapper(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        super().__init__(inner.param_groups, inner.defaults)
    def step(self, closure=None):
        return self.inner.step(closure)
optimizer = Wrapper(optimizer)
"""


@pytest.mark.parametrize(
    ("before", "reaches"),
    [
        (f"scheduler = {HALVED}", True),
        (f"{REBUILT}\nscheduler = {HALVED}", True),
        (f"{WRAPPED}\nscheduler = {HALVED}", True),
        (f"scheduler = {HALVED}\n{WRAPPED}", True),
        (f"scheduler = {HALVED}\n{REBUILT}", False),
        (f"scheduler = {HALVED}\n{STEPPED}\n{REBUILT}", False),
    ],
    ids=[
        "as given",
        "rebuilt",
        "wrapped",
        "wrapped afterwards",
        "rebuilt afterwards",
        "left behind",
    ],
)
def test_a_schedule_reaches_the_optimizer_that_steps_unless_that_is_another(
    executor: JailedExecutor, before: str, *, reaches: bool
) -> None:
    assert {s.reaches for s in steps(executor, loop(before))} == {reaches}


def test_a_schedule_that_moves_before_all_is_counted_with_the_first_update(
    executor: JailedExecutor,
) -> None:
    recording = run(executor, loop(f"scheduler = {HALVED}\nscheduler.step()"))
    trace = measure(recording, WORKLOAD, PROBE, Expectations())

    assert [u.scheduled_ahead for u in trace.updates] == [1, 0, 0, 0]
    assert [u.scheduler_steps for u in trace.updates] == [1, 1, 1, 1]


def test_a_batch_that_is_used_again_keeps_its_place(executor: JailedExecutor) -> None:
    """What a forward came after is what the loader had handed out last."""
    twice = "criterion(model(x), y).backward(); optimizer.step(); criterion(model(x), y).backward()"
    recording = run(executor, LOOP.format(backward=twice, step="optimizer.step()"))
    trace = measure(recording, WORKLOAD, PROBE, Expectations())

    places = [m.after_batch for u in trace.updates for m in u.micro_batches if m.in_window]
    assert places == [(0, i) for i in range(4) for _ in range(2)]
