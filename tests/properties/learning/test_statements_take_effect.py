import textwrap

import pytest

from tests.fakes.traces import probe, program, trace, update
from tests.properties.verdicts import on

ID = "statements-take-effect"

LOOP = """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
{}
    loss.backward()
    optimizer.step()
"""
REST = """
n = len(loader)
for i, (x, y) in enumerate({rows}):
    criterion(model(x), y).backward()
    if (i + 1) % 4 == 0 or i == {end}:
        optimizer.step()
"""


def of(source, *calls):
    ran = program("returned").model_copy(update={"source": source, "calls": calls})
    return trace(probe("as-it-is", update(0), program=ran))


def of_a_loop(statement):
    return of(LOOP.format(textwrap.indent(statement, "    ")))


@pytest.mark.parametrize(
    "statement",
    [
        "p.grad.mul(0.5)",
        "p.grad.data.clamp(-1, 1)",
        "param.data.clamp(-0.01, 0.01)",
        "torch.nan_to_num(p.grad)",
        "g = p.grad\ng.sub(g.mean())",
        "loss / 4",
        "self.loss * weight",
        "self.optimizer.step",
        "optimizer.zero_grad",
        "loss.backward",
        "scaler.step",
        "net.eval",
        "model.train\nmodel.eval()",
        "torch.cuda.amp.autocast()",
        "ddp.no_sync()",
        "accelerator.accumulate(model)",
        "for p in model.parameters():\n    p = p - 0.1 * p.grad",
        "for p in critic.parameters():\n    p.clamp(-0.01, 0.01)",
        "for e, p in zip(ema.parameters(), net.parameters()):\n    e = 0.9 * e + 0.1 * p.detach()",
        "if norm == torch.nan:\n    continue",
        "if float('nan') == loss or stop:\n    raise ValueError",
        "if loss.item() != math.nan:\n    loss.backward()",
        "optimizer.defaults['lr'] *= 0.1",
        "self.optimizer.defaults['weight_decay'] = 0.0",
    ],
)
def test_what_has_no_effect_fails(statement):
    verdict = on(ID, of_a_loop(statement))

    assert verdict.outcome == "fail"
    assert "does not have the effect that was meant" in verdict.sentence


@pytest.mark.parametrize(
    "statement",
    [
        "for p in model.parameters():\n    p.data = p - 0.1 * p.grad",
        "for p in params:\n    p = p - 0.1 * p.grad\n    new.append(p)",
        "for p in model.parameters():\n    total = total + p.grad.norm() ** 2",
        "p.grad.mul_(0.5)",
        "p.grad = p.grad.mul(0.5)",
        "torch.mul(p.grad, 0.5, out=p.grad)",
        "p.grad.clone()",
        "seen.add(loss)",
        "g = set()\ng.add(x)",
        "loss.detach()",
        "hidden.detach_()",
        "env.step",
        "model.train",
        "torch.no_grad()",
        "metric.accumulate(loss)",
        "stack.enter_context(model.no_sync())",
        "with model.no_sync():\n    pass",
        "torch.autocast('cpu')(update)(x, y)",
        "torch.autocast('cpu').__enter__()",
        "if loss != loss:\n    continue\nif loss == float('nan'):\n    continue",
        "if torch.isnan(loss) or loss == torch.nan:\n    continue",
        "if loss == float('nan'):\n    print('bad')",
        "if best_loss is math.nan:\n    continue",
        "if column == np.nan:\n    continue",
        "optimizer.defaults['lr'] = 0.1\noptimizer.add_param_group({'params': head})",
        "config.defaults['lr'] = 0.1",
    ],
)
def test_what_has_an_effect_or_changes_no_training_passes(statement):
    assert on(ID, of_a_loop(statement)).outcome == "pass"


def test_a_value_at_the_end_of_a_cell_is_shown():
    assert on(ID, of("loss / 4\nmodel.eval")).outcome == "pass"


def test_a_context_of_the_programs_own_may_be_a_function():
    source = LOOP.format("    autocast(model)") + "\ndef autocast(model): ...\n"
    assert on(ID, of(source)).outcome == "pass"


HOOKED = """
class Net(LightningModule):
    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, algorithm=None):
        {}
def measured(module): ...
trainer = Trainer(max_epochs=3, gradient_clip_val={})
"""


@pytest.mark.parametrize(
    ("body", "limit", "outcome"),
    [
        ("self.log('norm', torch.linalg.vector_norm(self.w.grad))", "0.5", "fail"),
        ("self.log('limit', gradient_clip_val)", "args.clip", "fail"),
        ("self.log('norm', torch.linalg.vector_norm(self.w.grad))", "None", "pass"),
        ("self.clip_gradients(optimizer, gradient_clip_val)", "0.5", "pass"),
        ("self.w.grad.mul_(0.5)", "0.5", "pass"),
        ("measured(self)", "0.5", "pass"),
    ],
)
def test_a_hook_in_place_of_a_trainers_clip_clips(body, limit, outcome):
    assert on(ID, of(HOOKED.format(body, limit))).outcome == outcome


@pytest.mark.parametrize(
    ("call", "outcome"), [("bound(model)", "fail"), ("train(model)", "pass"), ("", "pass")]
)
def test_a_function_is_read_where_something_calls_it(call, outcome):
    function = "def bound(model):\n    for p in model.parameters():\n        p.grad.clamp(-1, 1)\n"

    assert on(ID, of(function + call)).outcome == outcome
    assert on(ID, of(function, call)).outcome == outcome


@pytest.mark.parametrize(
    ("rows", "end", "lost", "outcome"),
    [
        ("loader", "n", 2, "fail"),
        ("loader", "len(loader)", 2, "fail"),
        ("tqdm(loader)", "len(loader)", 2, "fail"),
        ("loader", "n", 0, "pass"),
        ("loader", "n - 1", 2, "pass"),
        ("loader, 1", "n", 2, "pass"),
        ("other", "n", 2, "pass"),
    ],
)
def test_an_index_that_never_reaches_the_count_of_batches_loses_the_rest(rows, end, lost, outcome):
    seen = of(REST.format(rows=rows, end=end))
    ranks = tuple(
        rank.model_copy(update={"batches_lost": lost, "lost_at_end": lost})
        for rank in seen.probes[0].ranks
    )
    lossy = seen.probes[0].model_copy(update={"ranks": ranks})

    verdict = on(ID, seen.model_copy(update={"probes": (lossy,)}))

    assert verdict.outcome == outcome
    assert ("the rest of a pass was lost" in verdict.sentence) == (outcome == "fail")


def test_without_updates_it_is_inconclusive():
    assert on(ID, trace(probe("p"))).outcome == "inconclusive"
