"""Gradients that the harness multiplies by a known factor, in whatever program, and the truth about
them: transport stays exact, and the weight that a loss gave its samples is what it was without.
"""

import math

import pytest

from harness.domain.candidate import Candidate
from harness.domain.injection import Injection, OnePass
from harness.domain.regimes import LOUD, QUIET, fitted
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from tests.quality.judging import Court

PLAIN = """
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
CLIPPED = PLAIN.replace(
    "    optimizer.step()",
    "    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n    optimizer.step()",
)
PENALISED = PLAIN.replace(
    "criterion(model(x), y)",
    "criterion(model(x), y) + 0.1 * sum((p ** 2).sum() for p in model.parameters())",
)
RETURNED = """
import torch
for x, y in train_loader:
    found = torch.autograd.grad(criterion(model(x), y), model.parameters())
    for p, g in zip(model.parameters(), found):
        p.grad = g
    optimizer.step()
"""
CHECKPOINTS = """
import torch
from torch.utils.checkpoint import checkpoint
class Checkpointed(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.front, self.back = layers[:2], layers[2:]
        self.anchor = torch.ones(1, requires_grad=True)
    def forward(self, x):
        return self.back(checkpoint(lambda x, _: self.front(x), x, self.anchor, use_reentrant=True))
model = Checkpointed(model)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
BY_HAND = """
import torch
for x, y in train_loader:
    criterion(model(x), y).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.05 * p.grad
            p.grad = None
"""
TRANSFORMED = """
import torch
held = dict(model.named_parameters())
def loss_of(p, x, y):
    return criterion(torch.func.functional_call(model, p, (x,)), y)
for x, y in train_loader:
    found = torch.func.grad(loss_of)({k: v.detach() for k, v in held.items()}, x, y)
    for name, parameter in held.items():
        parameter.grad = found[name]
    optimizer.step()
"""
PER_SAMPLE = (
    TRANSFORMED.replace("(x,)), y)", "(x[None],)), y[None])")
    .replace(
        "torch.func.grad(loss_of)",
        "torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))",
    )
    .replace("found[name]", "found[name].mean(0)")
)
LOSS_INSIDE = """
import torch
from torch import nn
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 3)
    def forward(self, x, y):
        logits = self.head(x)
        return logits, nn.functional.mse_loss(logits, y)
net = Language()
opt = torch.optim.SGD(net.parameters(), lr=0.001)
for x, y in train_loader:
    logits, loss = net(x, y)
    (loss / 2).backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
"""
LOSS_IN_DICTIONARY = LOSS_INSIDE.replace(
    "return logits, nn.functional.mse_loss(logits, y)",
    "return {'loss': nn.functional.mse_loss(logits, y), 'logits': logits}",
).replace("logits, loss = net(x, y)", "loss = net(x, y)['loss']")
TWO_STAGES = """
import torch
from torch import nn
lower, upper = nn.Linear(8, 8), nn.Linear(8, 3)
opt = torch.optim.SGD([*lower.parameters(), *upper.parameters()], lr=0.001)
for x, y in train_loader:
    opt.zero_grad()
    hidden = lower(x)
    cut = hidden.detach().requires_grad_()
    criterion(upper(cut), y).backward()
    hidden.backward(cut.grad)
    opt.step()
"""
OWN_MODELS = """
import torch
from torch import nn
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.body(x))
net = Whole()
opt = torch.optim.SGD(net.parameters(), lr=0.001)
for x, y in train_loader:
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""
IN_PARTS = """
import torch
from torch import nn
encoder, head = nn.GRU(8, 8, batch_first=True), nn.Linear(8, 3)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.001)
for x, y in train_loader:
    opt.zero_grad()
    out, _ = encoder(x.unsqueeze(1))
    criterion(head(out[:, -1]), y).backward()
    opt.step()
"""
LAYER_BY_LAYER = PLAIN.replace("    loss = criterion(model(x), y)\n", """    out = x
    for layer in model:
        out = layer(out)
    loss = criterion(out, y)
""")  # fmt: skip
DDP = """
import torch
from torch.nn.parallel import DistributedDataParallel
net = DistributedDataParallel(model)
opt = torch.optim.SGD(net.parameters(), lr=0.001)
for x, y in train_loader:
    opt.zero_grad()
    criterion(net(x), y).backward()
    opt.step()
"""
AUTOCAST = PLAIN.replace(
    "    loss = criterion(model(x), y)\n",
    "    with torch.autocast('cpu', dtype=torch.bfloat16):\n        loss = criterion(model(x), y)\n",
)
SCALED = """
import torch
scaler = torch.amp.GradScaler("cuda")
for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
"""
EVERY = {
    "a plain loop": PLAIN,
    "a penalty beside the loss": PENALISED,
    "gradients that are returned": RETURNED,
    "updates by hand": BY_HAND,
    "backwards within backwards": CHECKPOINTS,
    "a transformed function": TRANSFORMED,
    "gradients of single samples": PER_SAMPLE,
    "a model that computes its loss": LOSS_INSIDE,
    "a loss in a dictionary": LOSS_IN_DICTIONARY,
    "two stages of backward": TWO_STAGES,
    "a model of its own": OWN_MODELS,
    "a model put together in the loop": IN_PARTS,
    "layers called one by one": LAYER_BY_LAYER,
    "two ranks": DDP,
    "bfloat16": AUTOCAST,
    "a loss scale": SCALED,
}


def seen(court: Court, program: str, injection: Injection) -> ProbeTrace:
    parameters = {"batches": 4, "epochs": 1, "learning_rate": 0.001}
    spec = WorkloadSpec.model_validate(
        {"name": "mlp", "parameters": parameters, "world_size": 2 if program == DDP else 1}
    )
    probe = Probe(name="injected", lifts="x", injection=injection)
    recording = court.executor.execute(Candidate(program=program, origin="test"), spec, probe)
    found = measure(recording, spec, probe, Expectations())
    assert found.program.outcome == "returned", found.program.message
    assert found.contradiction is None
    return found


def first_norms(court: Court, program: str, injection: Injection) -> list[float]:
    return [update.consumed_norm for update in seen(court, program, injection).updates]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("factor", [2.0**-7, 2.0**7])
def test_gradients_are_so_many_times_what_they_are_by_themselves(
    court: Court, name: str, factor: float
) -> None:
    """In the first update, before training has gone another way."""
    usual = first_norms(court, EVERY[name], Injection())[0]

    found = first_norms(court, EVERY[name], Injection(factor=factor))[0]

    assert found == pytest.approx(factor * usual, rel=5e-3)


@pytest.mark.parametrize(
    "name", [name for name in EVERY if "single samples" not in name and "penalty" not in name]
)
def test_what_is_consumed_is_the_true_gradient_times_the_factor(court: Court, name: str) -> None:
    updates = seen(court, EVERY[name], Injection(factor=64.0)).updates

    for update in updates:
        match = update.match("as-computed")
        assert match is not None
        assert match.relative_error < 0.02, (name, match)


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("a plain loop", 1.0),
        ("two ranks", 1.0),
        ("a loss scale", 1.0),
        ("a model of its own", 1.0),
        ("a model that computes its loss", 0.5),
    ],
)
def test_the_weight_that_a_loss_gives_its_samples_is_its_own(
    court: Court, name: str, weight: float
) -> None:
    updates = seen(court, EVERY[name], Injection(factor=0.125)).updates

    found = [m.weight for u in updates for m in u.window]
    assert found == pytest.approx([weight] * len(found), rel=1e-3)
    assert all(u.match("sample-mean") is not None for u in updates)


def test_windows_have_factors_of_their_own(court: Court) -> None:
    """A window ends with a step, however many backwards it had."""
    twice = PLAIN.replace(
        "loss.backward()", "(loss / 2).backward(); (criterion(model(x), y) / 2).backward()"
    )
    usual = first_norms(court, PLAIN, Injection())

    for program in (PLAIN, BY_HAND, twice):
        found = first_norms(court, program, Injection(by_window=(1.0, 0.125, 0.5)))
        ratios = [a / b for a, b in zip(found, usual, strict=True)]
        assert ratios == pytest.approx([1.0, 0.125, 0.5, 1.0], rel=0.3)


@pytest.mark.parametrize(
    "name", ["a plain loop", "a model that computes its loss",
             "layers called one by one", "a transformed function", "two ranks"],
)  # fmt: skip
@pytest.mark.parametrize("row", ["nan", "inf"])
def test_one_forward_returns_what_is_not_finite(court: Court, name: str, row: str) -> None:
    injection = Injection.model_validate({"passes": [{"at": 2, "row": row}]})

    updates = seen(court, EVERY[name], injection).updates

    assert [u.consumed_finite for u in updates[:3]] == [True, True, False]


def test_one_rank_alone_has_the_bad_batch(court: Court) -> None:
    injection = Injection(passes=(OnePass(at=1, rank=1, times=4096.0),))

    found = seen(court, DDP, injection)

    first, second = (m.weight for m in found.updates[1].window)
    norms = [u.consumed_norm for u in found.updates]
    assert (first, second) == pytest.approx((1.0, 1.0))
    assert norms[1] > 100 * norms[0]
    assert found.ranks_disagree == pytest.approx(0.0, abs=1e-6)


def test_a_scaled_gradient_overflows_once_and_the_scaler_skips_it(court: Court) -> None:
    found = seen(court, SCALED, Injection(passes=(OnePass(at=1, times=1e5),)))

    assert [u.skipped for u in found.updates] == [False, True, False, False]
    assert [u.loss_scale for u in found.updates] == [65536.0, 65536.0, 32768.0, 32768.0]


def test_a_loud_regime_does_not_overflow_under_a_scaler(court: Court) -> None:
    found = seen(court, SCALED, Injection(factor=1000.0))

    assert not any(u.skipped for u in found.updates)
    assert {u.loss_scale for u in found.updates} == {64.0}


def test_a_record_of_other_factors_than_the_probe_has_proves_nothing(court: Court) -> None:
    spec = WorkloadSpec.model_validate({"name": "mlp", "parameters": {"batches": 2, "epochs": 1}})
    quiet = Probe(name="quiet", lifts="x", injection=Injection(factor=0.25))
    left = Probe(name="quiet", lifts="x")
    recording = court.executor.execute(Candidate(program=PLAIN, origin="test"), spec, left)

    found = measure(recording, spec, quiet, Expectations())

    assert found.contradiction is not None


def test_factors_are_found_for_the_threshold_of_the_program(court: Court) -> None:
    program = "import torch\n" + CLIPPED
    _, quiet, loud = fitted(seen(court, program, Injection()))

    small, large = (seen(court, program, r.injection).updates for r in (quiet, loud))

    assert all(u.consumed_norm < 0.25 and u.consumed_norm > 0.01 for u in small)
    computed = [m.expected_norm for u in large if (m := u.match("as-computed"))]
    assert min(computed) > 2.0
    assert max(computed) < 100.0


def test_without_a_threshold_the_usual_factors_stay(court: Court) -> None:
    _, quiet, loud = fitted(seen(court, PLAIN, Injection()))

    assert (quiet, loud) == (QUIET, LOUD)
    assert math.log2(loud.injection.factor) == 10
