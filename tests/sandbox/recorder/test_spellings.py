"""One gradient, many spellings: whatever a right loop looks like, the same numbers come out.

Every program below accumulates four micro-batches and clips at 1.0; each runs in the real jail and is
measured by the real oracle.
"""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.sandbox.executor import JailedExecutor
from tests.sampling import sampled

LOOP = """
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        {clip}
        {step}
        {clear}
"""

PLAIN = {
    "clip": "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "step": "optimizer.step()",
    "clear": "optimizer.zero_grad()",
}

BY_HAND = """norm = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
        for p in model.parameters():
            p.grad = p.grad * min(1.0, 1.0 / float(norm))"""

IN_DATA = """norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
        for p in model.parameters():
            p.grad.data.mul_((1.0 / (norm + 1e-6)).clamp(max=1.0))"""

TWO_CALLS = """total = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, total)"""

FOREACH = """grads = [p.grad for p in model.parameters()]
        norm = torch.stack(torch._foreach_norm(grads)).norm()
        torch._foreach_mul_(grads, min(1.0, float(1.0 / (norm + 1e-6))))"""

SPELLINGS = {
    "clip_grad_norm_": LOOP.format(**PLAIN),
    "two calls": LOOP.format(**PLAIN | {"clip": TWO_CALLS}),
    "by hand, rebinding .grad": LOOP.format(**PLAIN | {"clip": BY_HAND}),
    "by hand, in .data": LOOP.format(**PLAIN | {"clip": IN_DATA}),
    "_foreach": LOOP.format(**PLAIN | {"clip": FOREACH}),
    "a filter of the parameters": LOOP.format(
        **PLAIN
        | {
            "clip": "torch.nn.utils.clip_grad_norm_(filter(lambda p: True, model.parameters()), 1.0)"
        }
    ),
    "model.zero_grad": LOOP.format(**PLAIN | {"clear": "model.zero_grad()"}),
    "zero-filled": LOOP.format(**PLAIN | {"clear": "optimizer.zero_grad(set_to_none=False)"}),
    "grad = None": LOOP.format(
        **PLAIN | {"clear": "for p in model.parameters():\n            p.grad = None"}
    ),
    "a norm for the log first": LOOP.format(
        **PLAIN
        | {
            "clip": "torch.nn.utils.clip_grad_norm_(model.parameters(), float('inf'))\n        "
            + PLAIN["clip"]
        }
    ),
    "clip in the optimizer's own pre-hook": (
        "optimizer.register_step_pre_hook(lambda *_: (torch.nn.utils.clip_grad_norm_(\n"
        "    model.parameters(), 1.0), None)[1])\n" + LOOP.format(**PLAIN | {"clip": "pass"})
    ),
    "sum of losses, one backward": """
optimizer.zero_grad()
total = 0.0
for i, (x, y) in enumerate(train_loader):
    total = total + criterion(model(x), y) / 4
    if (i + 1) % 4 == 0:
        total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total = 0.0
""",
    "sum of samples, divided afterwards": """
optimizer.zero_grad()
count = 0
for i, (x, y) in enumerate(train_loader):
    loss = ((model(x) - y) ** 2).mean(dim=1).sum()
    loss.backward()
    count += len(x)
    if (i + 1) % 4 == 0:
        for p in model.parameters():
            p.grad /= count
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        count = 0
""",
    "autograd.grad into buffers": """
buffers = [torch.zeros_like(p) for p in model.parameters()]
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / 4
    for b, g in zip(buffers, torch.autograd.grad(loss, list(model.parameters()))):
        b += g
    if (i + 1) % 4 == 0:
        for p, b in zip(model.parameters(), buffers):
            p.grad = b.clone()
            b.zero_()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
""",
    "the next batch fetched before backward": """
batches = iter(train_loader)
x, y = next(batches)
optimizer.zero_grad()
for i in range(len(train_loader) - 2):
    loss = criterion(model(x), y) / 4
    x, y = next(batches)
    loss.backward()
    if (i + 1) % 4 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
    "checkpointed": """
from torch.utils.checkpoint import checkpoint
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    (criterion(checkpoint(model, x, use_reentrant=False), y) / 4).backward()
    if (i + 1) % 4 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
    "a closure": """
batches = list(train_loader)
for start in range(0, 12, 4):
    def closure():
        optimizer.zero_grad()
        for x, y in batches[start:start + 4]:
            (criterion(model(x), y) / 4).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step(closure)
""",
    "a scaler that is switched off": """
scaler = torch.amp.GradScaler("cuda", enabled=False)
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    scaler.scale(criterion(model(x), y) / 4).backward()
    if (i + 1) % 4 == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
""",
    "a scaler in full precision": """
scaler = torch.amp.GradScaler("cuda")
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    scaler.scale(criterion(model(x), y) / 4).backward()
    if (i + 1) % 4 == 0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
""",
    "norms of a whole pass looked at first": """
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
model.zero_grad()
"""
    + LOOP.format(**PLAIN),
}


def run(executor: JailedExecutor, program: str, scale: float, world_size: int = 1) -> ProbeTrace:
    """Execute and measure one program on a small regression."""
    workload = WorkloadSpec(
        name="mlp", parameters={"target_scale": scale}, seed=3, world_size=world_size
    )
    probe = Probe(name="probe", lifts="")
    recording = executor.execute(Candidate(program=program, origin="test"), workload, probe)
    return measure(recording, workload, probe, Expectations())


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "scale"),
    [*sampled(((name, 0.1) for name in SPELLINGS), 4), *((name, 20.0) for name in SPELLINGS)],
)
def test_every_spelling_consumes_the_clipped_gradient_of_the_window(
    executor: JailedExecutor, name: str, scale: float
) -> None:
    """Below the threshold the true gradient is consumed, above it the true direction at norm 1."""
    trace = run(executor, SPELLINGS[name], scale)
    full = [u for u in trace.updates if not u.short]

    assert trace.program.outcome == "returned", trace.program.message
    assert len(full) == 3
    for update in full:
        objective = "sample-mean" if "samples" in name else "micro-batch-mean"
        match = update.match(objective)
        assert match is not None
        assert update.window_size == 4
        assert match.direction_error < 10 * update.tolerance
        expected = min(match.expected_norm, 1.0)
        assert match.consumed_norm == pytest.approx(expected, rel=10 * update.tolerance)
        assert update.parameters_followed is True


DDP_LOOP = """
ddp = DDP(model, device_ids=[local_rank])
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    last = (i + 1) % 4 == 0
    {body}
    if last:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""

FORWARD_INSIDE = """with contextlib.nullcontext() if last else ddp.no_sync():
        (criterion(ddp(x), y) / 4).backward()"""
FLAG = """ddp.require_backward_grad_sync = last
    (criterion(ddp(x), y) / 4).backward()"""
BACKWARD_ONLY = """loss = criterion(ddp(x), y) / 4
    with contextlib.nullcontext() if last else ddp.no_sync():
        loss.backward()"""
LATE_FLAG = """loss = criterion(ddp(x), y) / 4
    ddp.require_backward_grad_sync = last
    loss.backward()"""
BYPASSED = "(criterion(ddp.module(x), y) / 4).backward()"
BY_HAND_SYNC = """(criterion(model(x), y) / 4).backward()
    if last:
        for p in model.parameters():
            torch.distributed.all_reduce(p.grad)
            p.grad /= torch.distributed.get_world_size()"""


@pytest.mark.parametrize(
    ("body", "rounds", "agree"),
    [
        (FORWARD_INSIDE, 1, True),
        (FLAG, 1, True),
        (BY_HAND_SYNC, 1, True),
        (BACKWARD_ONLY, 4, True),
        (LATE_FLAG, 1, False),
        (BYPASSED, 0, False),
    ],
    ids=["no_sync", "flag", "by hand", "no_sync around backward", "late flag", "bypassed"],
)
def test_rounds_and_agreement_tell_synchronisations_apart(
    executor: JailedExecutor, body: str, rounds: int, *, agree: bool
) -> None:
    """Rounds per parameter and agreement of ranks are what was executed, however it was written."""
    trace = run(executor, "import contextlib\n" + DDP_LOOP.format(body=body), 0.1, world_size=2)

    assert trace.program.outcome == "returned", trace.program.message
    assert [round(u.rounds) for u in trace.updates if not u.short] == [rounds] * 3
    assert trace.ranks_disagree is not None
    assert (trace.ranks_disagree < 1e-6) is agree
