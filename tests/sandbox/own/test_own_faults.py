"""Whole scripts with one fault each beside a right one that looks like it, by their own settings."""

import pytest

from harness.domain.trace import Trace
from harness.properties.own import own_grade

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
def batch():
    x = torch.randn(8, 4)
    return x, x.sum(1, keepdim=True)
"""
ATTACK = """
for step in range(12):
    x, y = batch()
    {before}
    adv = x.clone().requires_grad_(True)
    for _ in range(2):
        F.mse_loss(net(adv), y).backward()
        adv = (adv + 0.1 * adv.grad.sign()).detach().requires_grad_(True)
    {after}
    F.mse_loss(net(adv.detach()), y).backward()
    optimizer.step()
"""
SHARP = """
for step in range(12):
    x, y = batch()
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    with torch.no_grad():
        away = [0.05 * p.grad for p in net.parameters()]
        [p.add_(a) for p, a in zip(net.parameters(), away)]
    {clear}
    F.mse_loss(net(x), y).backward()
    with torch.no_grad():
        [p.sub_(a) for p, a in zip(net.parameters(), away)]
    optimizer.step()
"""
PARTS = """
for step in range(12):
    x, y = batch()
    out = net(x)
    optimizer.zero_grad()
    F.mse_loss(out, y).backward(retain_graph=True)
    {between}
    F.l1_loss(out, y).backward()
    optimizer.step()
"""
CLOSURE = """
lbfgs = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
x, y = batch()
def closure():
    {clear}
    loss = F.mse_loss(net(x), y)
    loss.backward()
    return loss
for step in range(4):
    lbfgs.zero_grad()
    lbfgs.step(closure)
"""
TEACHER = """
student = nn.Linear(4, 1)
def teach():
    for step in range(200):
        x, y = batch()
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
def distil():
    second = torch.optim.SGD(student.parameters(), lr=0.01)
    for step in range(200):
        x, _ = batch()
        with torch.no_grad():
            y = net(x)
        {clear}
        F.mse_loss(student(x), y).backward()
        second.step()
teach()
distil()
"""
NAN = """
for step in range(12):
    x, y = batch()
    if step == 5:
        y = y / 0.0
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    {guard}loss.backward()
    {guard}optimizer.step()
"""
DECLARED = """
accumulation_steps = 4
for step in range(12):
    x, y = batch()
    (F.mse_loss(net(x), y) / {divisor}).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WINDOW = """
for step in range(12):
    for _ in range(4):
        x, y = batch()
        (F.mse_loss(net(x), y) / {divisor}).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SKIPPED = """
for step in range(24):
    x, y = batch()
    if step == 5:
        y = y / 0.0
    loss = F.mse_loss(net(x), y)
    loss.backward()
    if not nn.utils.get_total_norm([p.grad for p in net.parameters()]).isfinite():
        {clear}
        continue
    optimizer.step()
    optimizer.zero_grad()
"""
CHECKPOINT = """
from torch.utils.checkpoint import checkpoint
head = nn.Linear(1, 1)
both = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
for step in range(12):
    x, y = batch()
    both.zero_grad()
    F.mse_loss(head(checkpoint(net, x, use_reentrant={how})), y).backward()
    both.step()
"""
HALF = """
half = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)
for step in range(12):
    x, y = batch()
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=half):
        loss = F.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    {unscale}
    nn.utils.clip_grad_norm_(net.parameters(), 0.01)
    scaler.step(optimizer)
    scaler.update()
"""
HEADS = """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.one, self.other = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.one(h), self.other(h)
two = Two()
both = torch.optim.SGD(two.parameters(), lr=0.01)
for step in range(16):
    x, y = batch()
    one, other = two(x)
    both.zero_grad()
    (F.mse_loss(one, y) + F.mse_loss(other{cut}, -y)).backward()
    both.step()
"""
GROUPS = """
weights = [p for p in net.parameters() if p.ndim > 1]
biases = [p for p in net.parameters() if p.ndim == 1]
groups = [{{"params": weights, "weight_decay": 0.1}}, {{"params": biases, "weight_decay": 0.0}}]
decayed = torch.optim.AdamW(groups, lr=0.01)
for step in range(12):
    for group in {groups}:
        group["lr"] = 0.01 * (1 - step / 12)
    x, y = batch()
    decayed.zero_grad()
    F.mse_loss(net(x), y).backward()
    decayed.step()
"""
CASES = {
    "a head whose loss reaches nothing": (
        HEADS,
        {"cut": ""},
        {"cut": ".detach()"},
        "every-parameter-learns",
    ),
    "a schedule by hand that leaves a group out": (
        GROUPS,
        {"groups": "decayed.param_groups"},
        {"groups": "decayed.param_groups[:1]"},
        "scheduler-per-update",
    ),
    "the first gradient of sharpness-aware minimisation": (
        SHARP,
        {"clear": "optimizer.zero_grad()"},
        {"clear": "pass"},
        "gradients-start-fresh",
    ),
    "gradients of a batch that is skipped": (
        SKIPPED,
        {"clear": "optimizer.zero_grad()"},
        {"clear": "pass"},
        "gradients-start-fresh",
    ),
    "a reentrant checkpoint at the input": (
        CHECKPOINT,
        {"how": "False"},
        {"how": "True"},
        "every-parameter-learns",
    ),
    "a scaler that only half precision needs": (
        HALF,
        {"unscale": "scaler.unscale_(optimizer)"},
        {"unscale": "pass"},
        "unscaled-norm",
    ),
    "gradients of an attack": (
        ATTACK,
        {"before": "", "after": "optimizer.zero_grad()"},
        {"before": "optimizer.zero_grad()", "after": ""},
        "gradients-start-fresh",
    ),
    "a part of a loss that is wiped": (
        PARTS,
        {"between": ""},
        {"between": "optimizer.zero_grad()"},
        "accumulation-not-wiped",
    ),
    "a closure that never clears": (
        CLOSURE,
        {"clear": "lbfgs.zero_grad()"},
        {"clear": "pass"},
        "gradients-start-fresh",
    ),
    "a fault in what is trained second": (
        TEACHER,
        {"clear": "second.zero_grad()"},
        {"clear": "pass"},
        "gradients-start-fresh",
    ),
    "a batch that is not finite": (
        NAN,
        {"guard": "if loss.isfinite(): "},
        {"guard": ""},
        "params-stay-finite",
    ),
    "a division for nothing": (
        DECLARED,
        {"divisor": "1"},
        {"divisor": "accumulation_steps"},
        "one-update-per-window",
    ),
    "a division by the rows": (
        WINDOW,
        {"divisor": "4"},
        {"divisor": "8"},
        "accumulation-equals-large-batch",
    ),
}


def grade_of(see, program):
    seen = see(HEAD + program)
    probe = seen.trace.model_copy(update={"probe": "as-it-is"})
    assert probe.updates, seen.outcome
    return own_grade(Trace(probes=(probe,)), "test")


@pytest.mark.parametrize("case", CASES)
def test_the_right_one_of_two_that_differ_in_a_line_is_right(see, case):
    program, right, _, _ = CASES[case]

    grade = grade_of(see, program.format(**right))

    searches = "LBFGS" in program  # of which the places in between are not told apart
    codes = ("right", "inconclusive") if searches else ("right",)
    assert grade.code in codes, [v.sentence for v in grade.verdicts if v.outcome != "pass"]


@pytest.mark.parametrize("case", CASES)
def test_the_wrong_one_is_wrong_for_what_it_does(see, case):
    program, _, wrong, property_ = CASES[case]

    failing = [
        v.property for v in grade_of(see, program.format(**wrong)).verdicts if v.outcome == "fail"
    ]

    assert property_ in failing


def test_an_optimizer_without_a_clip_beside_one_with_misses_none(see):
    two = """
other = nn.Linear(4, 1)
second = torch.optim.SGD(other.parameters(), lr=0.01)
for step in range(12):
    x, y = batch()
    optimizer.zero_grad()
    (100 * F.mse_loss(net(x), y)).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    second.zero_grad()
    (100 * F.mse_loss(other(x), y)).backward()
    second.step()
"""
    assert grade_of(see, two).code == "right"


AVERAGED = """
    import copy
    import torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    ema = copy.deepcopy(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    saved = {{}}
    for epoch in range(4):
        for _ in range(5):
            x = torch.randn(8, 4)
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(ema.parameters(), net.parameters()):
                    slow.lerp_(fast, 0.1)
        saved[epoch] = copy.deepcopy(net.state_dict())
        {before}
        net.eval()
        with torch.no_grad():
            net(torch.randn(8, 4))
        net.train()
        {after}
"""
PUT_IN = "net.load_state_dict(ema.state_dict())"
PUT_BACK = "net.load_state_dict(saved[epoch])"


def test_an_average_that_an_evaluation_put_in_has_to_be_put_back(see):
    seen = see(AVERAGED.format(before=PUT_IN, after="pass"))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong", seen.outcome
    assert any("weights that an evaluation had put in" in v.sentence for v in grade.verdicts)


@pytest.mark.parametrize(
    ("before", "after"),
    [(PUT_IN, PUT_BACK), ("pass", "pass"), ("net.load_state_dict(saved[0])", "pass")],
    ids=["put back", "never exchanged", "an earlier state of its own, on purpose"],
)
def test_weights_that_are_put_back_or_were_its_own_are_right(see, before, after):
    seen = see(AVERAGED.format(before=before, after=after))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "right", grade.reasons


TWO_PHASES = (
    HEADS.partition("for step")[0].replace("{{", "{").replace("}}", "}")
    + """
def fit(which, steps):
    for step in range(steps):
        x, y = batch()
        both.zero_grad()
        F.mse_loss(two(x)[which], y).backward()
        both.step()
fit(0, 3000)
fit(1, 3000)
"""
)


def test_a_head_whose_loss_is_still_to_come_is_not_called_idle(see):
    """The run is cut short within the first of two phases."""
    seen = see(HEAD + TWO_PHASES)

    assert seen.outcome.startswith("exited"), seen.outcome
    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong"


KEPT = """
import copy
best, kept, history = float("inf"), None, []
for epoch in range(300):
    for _ in range(6):
        x, y = batch()
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
    x, y = batch()
    with torch.no_grad():
        history.append(F.mse_loss(net(x), y).item())
    if history[-1] < best:
        best, kept = history[-1], {taken}
net.load_state_dict(kept)
print(history[299])
"""


@pytest.mark.parametrize(
    ("taken", "code"),
    [("net.state_dict()", "wrong"), ("copy.deepcopy(net.state_dict())", "right")],
)
def test_what_was_kept_is_put_back_behind_a_loop_that_is_cut_short(see, taken, code):
    """What fails behind it is no fault of the program's."""
    grade = grade_of(see, KEPT.format(taken=taken))

    assert grade.code == code, grade.reasons
    assert (code == "right") or "its own memory" in " ".join(v.sentence for v in grade.verdicts)


PER_STEP = """
for episode in range(12):
    optimizer.zero_grad()
    for _ in range(3 + episode % 2):
        x, y = batch()
        (0.5 * F.mse_loss(net(x), y)).backward()
    optimizer.step()
"""


def test_half_a_loss_summed_over_episodes_of_two_lengths_is_no_other_division(see):
    verdicts = grade_of(see, PER_STEP).verdicts

    assert not any("another count" in v.sentence for v in verdicts)


PLATEAU = """
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = DDP(nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
torch.manual_seed(rank + 1)
rows, held_out = torch.randn(48, 4), torch.randn(16, 4)
for epoch in range(4):
    for x in rows.split(8):
        optimizer.zero_grad()
        (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
    with torch.no_grad():
        found = (net.module(held_out) - held_out.sum(1, keepdim=True)).pow(2).mean()
    {reduce}
    plateau.step(found.item())
"""


def agreement_of(see, reduce):
    seen = see(PLATEAU.format(reduce=reduce), ranks=2)
    verdicts = own_grade(Trace(probes=(seen.trace,)), "test").verdicts
    return next(v.outcome for v in verdicts if v.property == "ranks-agree")


def test_ranks_that_each_judge_by_a_number_of_their_own_will_part(see):
    assert agreement_of(see, "pass") == "fail"


def test_ranks_that_judge_by_the_mean_over_all_agree(see):
    assert agreement_of(see, "dist.all_reduce(found)") == "pass"


LONG = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
accum, epochs, batches = 4, 50, 40
cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=epochs * batches)
for epoch in range(epochs):
    for i in range(batches):
        x = torch.randn(8, 4)
        ((net(x) - x.sum(1, keepdim=True)).pow(2).mean() / accum).backward()
        cycle.step()
        if i % accum == accum - 1:
            optimizer.step()
            optimizer.zero_grad()
"""


def test_a_schedule_that_the_run_was_cut_short_of_is_not_called_wrong(see):
    """It is as long as there are micro-batches, and may be meant for them."""
    seen = see(LONG)

    assert seen.outcome.startswith("exited"), seen.outcome
    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong"
