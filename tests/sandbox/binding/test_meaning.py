"""Bound programs mean what they meant: the right object under the right name."""

import ast

import pytest

from harness.sandbox.binding import rewrite
from harness.sandbox.binding.frameworks import hooks

STEP = "    loss = criterion(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
LOOP = "for x, y in train_loader:\n" + STEP


def test_every_batch_comes_once_and_in_order(run):
    """A pass is the workload's batches; the next pass is the same."""
    ran = run(
        "result = [[tuple(x.shape) for x, y in train_loader] for _ in range(2)]\nresult = (len(result[0]), result[0] == result[1])\n"
        + LOOP
    )

    assert ran.result == "(14, True)"


def test_a_spoiled_batch_is_whole_again_in_the_next_pass(run):
    """Changing a batch in place changes that copy."""
    ran = run(
        "first = next(iter(train_loader))[0].clone()\nfor x, y in train_loader:\n    x.zero_()\n"
        "result = torch.equal(first, next(iter(train_loader))[0])\n" + LOOP
    )

    assert ran.result == "True"


def test_a_free_target_belongs_to_the_batch_in_hand(run):
    """A target that the loop does not yield changes with every batch."""
    ran = run(
        "seen = []\nfor batch in train_loader:\n    loss = criterion(model(batch), target)\n    loss.backward()\n"
        "    seen.append((len(batch) == len(target), target.sum().item()))\nresult = (all(s[0] for s in seen), len({s[1] for s in seen}))\n"
    )

    assert ran.result == "(True, 14)"


def test_a_free_target_that_enters_a_quotient_is_no_loss(run):
    """A loss of one's own divides by predictions; the loop over the batches is the program's."""
    ran = run(
        "def ratio(output, known):\n    safe = output.exp()\n"
        "    return torch.where(safe > 0, known / safe, torch.ones_like(safe)).mean()\n"
        "seen = []\nfor step, batch in enumerate(train_loader):\n    optimizer.zero_grad()\n"
        "    loss = ratio(model(batch), target)\n    loss.backward()\n    optimizer.step()\n"
        "    seen.append(target.min().item())\n"
        "result = len(set(seen))\n"
    )

    assert (ran.steps, ran.result) == (14, "14")


def test_a_constructor_gives_the_model_once_and_fresh_ones_after(run):
    """Two experiments do not share weights, and start from the same."""
    ran = run(
        "def experiment():\n    net = MyModel()\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n    for x, y in train_loader:\n"
        "        opt.zero_grad(); criterion(net(x), y).backward(); opt.step()\n    return [p.sum().item() for p in net.parameters()]\n"
        "result = experiment() == experiment()\n"
    )

    assert ran.outcome == "ran"
    assert ran.result == "True"


def test_the_optimizer_steps_the_model(run):
    """The free optimizer holds exactly the free model's parameters."""
    ran = run(
        "result = [id(p) for g in optimizer.param_groups for p in g['params']] == [id(p) for p in model.parameters()]\n"
        + LOOP
    )

    assert ran.result == "True"


def test_a_dataset_gives_the_workloads_batches(run):
    """A DataLoader over a free dataset yields the workload's own batches, through the program's collate function."""
    ran = run(
        "from torch.utils.data import DataLoader\ndef collate(rows):\n    return torch.stack([r[0] for r in rows]), torch.stack([r[1] for r in rows])\n"
        "loader = DataLoader(train_dataset, batch_size=32, shuffle=True, num_workers=8, collate_fn=collate)\n"
        "result = isinstance(loader, DataLoader)\n" + LOOP.replace("train_loader", "loader")
    )

    assert ran.outcome == "ran"
    assert (ran.steps, ran.result) == (14, "True")


@pytest.mark.parametrize(
    ("name", "value"),
    [("accumulation_steps", "4"), ("zz", "4")],
)
def test_a_window_is_found_by_use(run, name, value):
    """What divides the loss and decides about steps is the number of batches in a window, whatever its name."""
    ran = run(
        f"result = {name}\nfor i, (x, y) in enumerate(train_loader):\n    (criterion(model(x), y) / {name}).backward()\n"
        f"    if (i + 1) % {name} == 0:\n        optimizer.step()\n"
    )

    assert ran.result == value


def test_what_the_program_builds_is_kept(run):
    """An optimizer of the program's own stays as built."""
    ran = run(
        "optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.8, 0.9))\n"
        + LOOP
        + "result = (type(optimizer).__name__, optimizer.defaults['betas'])\n"
    )

    assert ran.result == "('AdamW', (0.8, 0.9))"


def test_a_model_of_its_own_is_watched(run):
    """A model that the program builds is handed to whoever records."""
    ran = run(
        f"net = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 3))\n{LOOP.replace('model', 'net')}"
    )

    assert ran.outcome == "ran"
    assert len(ran.tracked) == 2


def test_the_wrong_way_is_not_started(run):
    """Of two functions that could be started, the one named as wrong is left alone."""
    body = "(model, train_loader, optimizer, criterion):\n    for x, y in train_loader:\n        criterion(model(x), y).backward()\n        optimizer.step()\n"

    ran = run(f"def train_wrong{body}def train_right{body}")

    assert [call[0] for call in ran.calls] == ["train_right"]
    assert ran.steps == 14


def test_an_epoch_function_is_called_once_an_epoch(run):
    """A parameter that is the epoch counts them."""
    ran = run(
        "result = []\ndef train(model, loader, optimizer, criterion, epoch):\n    result.append(epoch)\n    for x, y in loader:\n"
        "        criterion(model(x), y).backward()\n        optimizer.step()\n"
    )

    assert ran.result == "[0, 1]"
    assert ran.steps == 28


def test_a_function_gets_what_the_program_made(run):
    """A function that is never called is called with the program's own objects."""
    ran = run(
        "from torch.nn.parallel import DistributedDataParallel as DDP\nwrapped = DDP(model, device_ids=[local_rank])\n"
        "opt = torch.optim.Adam(model.parameters(), lr=1e-3)\nresult = []\n"
        "def train(net, loader, o, loss_fn):\n    result.append((type(net).__name__, type(o).__name__))\n    for x, y in loader:\n"
        "        with net.no_sync():\n            loss_fn(net(x), y).backward()\n        o.step(); o.zero_grad()\n"
    )

    assert ran.result == "[('DistributedDataParallel', 'Adam')]"


def test_code_for_one_batch_gets_the_rest(run):
    """Diagnosis after a backward is run in a loop that trains, which it neither clears nor steps itself."""
    ran = run(
        "loss.backward()\nnorms = {n: p.grad.norm().item() for n, p in model.named_parameters()}\nprint(max(norms.values()))\n"
    )

    assert ran.steps == 14
    assert any("written for one batch" in note for note in ran.notes)


@pytest.mark.parametrize("count", ["", "accumulation_steps = 4\n"])
def test_code_for_one_micro_batch_of_several_gets_the_rest_once_for_all_of_them(run, count):
    """``(loss / accumulation_steps).backward()`` alone was told that it updates after every batch."""
    ran = run(f"{count}(loss / accumulation_steps).backward()\n")

    assert ran.steps == 4
    assert any("each window of accumulation_steps batches" in note for note in ran.notes)


def test_a_clearing_before_code_for_one_batch_belongs_to_every_batch():
    """Left outside of the loop it made a right answer one that never clears."""
    batch = "out = model(x)\ncriterion(out, y).backward()\noptimizer.step()\n"
    once = ast.parse("optimizer.zero_grad()\n" + batch)
    again = ast.parse("optimizer.zero_grad()\n" + batch + "optimizer.zero_grad()\n")

    assert rewrite.with_clearing(once, 1) == 0
    assert rewrite.with_clearing(again, 1) == 1


def test_a_target_that_a_loss_of_ones_own_multiplies_is_a_target(run):
    """By its use it may be an output as well; its name tells."""
    ran = run(
        "def custom_loss(pred, target):\n    return (-(target * torch.log(pred.abs() + 1))).mean()\n\n"
        "for batch in train_loader:\n    optimizer.zero_grad()\n"
        "    loss = custom_loss(model(batch), target)\n    loss.backward()\n    optimizer.step()\n"
    )

    assert ran.steps == 14


def test_notes_say_what_a_name_was_taken_for(run):
    """Whoever disputes a verdict can see what was bound."""
    assert "train_loader: loader of [input, target]" in run(LOOP).notes


GROWN = """
for batch in train_loader:
    {put}
    if len(held) == 4:
        while held:
            x, y = {take}
            (criterion(model(x), y) / 4).backward()
            {drop}
        optimizer.step(); optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("make", "put", "take", "drop"),
    [
        (
            "import collections\nheld = collections.deque()",
            "held.append(batch)",
            "held.popleft()",
            "",
        ),
        ("held = []", "held.append(batch)", "held.pop(0)", ""),
        ("held = []", "held.insert(0, batch)", "held.pop()", ""),
        ("held = []", "held += [batch]", "held[0]", "del held[0]"),
        ("held = []", "held.append(batch)", "held[-1]", "held.pop()"),
        ("held = {}", "held[len(held)] = batch", "held.pop(len(held) - 1)", ""),
    ],
)
def test_a_batch_that_was_put_into_a_container_is_one_when_it_comes_out(run, make, put, take, drop):
    ran = run(make + GROWN.format(put=put, take=take, drop=drop))

    assert (ran.outcome, ran.steps) == ("ran", 3)


def test_a_fit_of_its_own_is_no_trainers_and_the_trainers_inside_it_still_is(run):
    """The model is a plain one in the first, and goes into a Trainer in the second."""
    own = "def fit(net, data):\n    for x, y in data:\n        criterion(net(x), y).backward(); optimizer.step()\n"
    around = "import lightning as L\ndef fit(net, data):\n    trainer = L.Trainer(max_epochs=1)\n    trainer.fit(net, data)\n"

    for program in (own, around):
        ran = run(program + "fit(model, train_loader)\n")
        assert (ran.outcome, ran.steps) == ("ran", 14)


def test_a_lightning_module_of_somebody_elses_is_the_workloads(run):
    """It is made by a class that nobody shows; a trainer that nobody shows gets one sentence."""
    fit = "trainer = L.Trainer(max_epochs=1)\ntrainer.fit(LitModel(), train_loader)\n"
    ran = run("import lightning as L\n" + fit)
    data = run("import lightning as L\nL.Trainer(max_epochs=1).fit(LitModel(), datamodule=dm)\n")
    unseen = run("trainer.fit(model, train_loader)\n")

    assert [(r.outcome, r.steps) for r in (ran, data)] == [("ran", 14)] * 2
    assert unseen.outcome == "Unbound: `fit` is called on a trainer that the program does not show"


def test_reports_are_the_programs_own(run):
    """What the program prints is untouched; progress bars say nothing."""
    ran = run("from tqdm import tqdm\nfor x, y in tqdm(train_loader):\n" + STEP + "print('done')\n")

    assert ran.printed == "done\n"


@pytest.mark.parametrize("tree", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning_in_both_trees(run, tree):
    """A module in part is completed and fitted, and clips where its trainer says."""
    ran = run(
        f"import {tree} as pl\nclass MyModel(pl.LightningModule):\n    def training_step(self, batch, batch_idx):\n"
        "        output = self(batch)\n        return self.criterion(output, target)\n"
        "trainer = pl.Trainer(gradient_clip_val=1.0, accelerator='gpu', devices=2, strategy='ddp')\ntrainer.fit(model, train_loader)\n"
        "result = (trainer.gradient_clip_val, type(model).__name__)\n"
    )

    assert ran.outcome == "ran"
    assert (ran.steps, ran.result) == (28, "(1.0, 'MyModel')")


def test_a_diagnosis_alone_is_run_between_backward_and_step(run):
    """A function that only looks at gradients finds the gradients of every batch, and training goes on."""
    ran = run(
        "seen = []\ndef report(model):\n    seen.append(all(p.grad is not None for p in model.parameters()))\n"
        "result = seen\n"
    )

    assert ran.result == str([True] * 14)
    assert ran.steps == 14


def test_a_definition_without_a_body_stays_where_nothing_is_expected_of_it(run):
    """A callback that does nothing goes on doing nothing; an exception of the program's own stays one."""
    ran = run(
        "class Bad(RuntimeError):\n    pass\ndef noop(*_):\n    pass\nmodel.register_forward_hook(noop)\n"
        "result = (issubclass(Bad, RuntimeError), noop(1))\n" + LOOP
    )

    assert ran.outcome == "ran"
    assert ran.result == "(True, None)"


def test_autocast_that_nobody_imported(run):
    """It needs no device and computes in half precision."""
    ran = run("with autocast():\n    result = model(next(iter(train_loader))[0]).dtype\n" + LOOP)

    assert ran.result == "torch.float16"


def test_a_lightning_hook_without_its_class_becomes_a_method_of_one():
    """Beside the usual training step, unless it is that; functions of other names stay functions."""
    hook = "def on_before_optimizer_step(self, optimizer):\n    pass\n"
    step = "def training_step(self, batch, batch_idx):\n    return self(batch)\n"
    plain = ast.parse("def step(self):\n    pass\n")

    def methods(text):
        (made,) = (s for s in hooks.gather(ast.parse(text)).body if isinstance(s, ast.ClassDef))
        return [method.name for method in made.body]

    assert methods("print(1)\n" + hook) == ["training_step", "on_before_optimizer_step"]
    assert methods(step + hook) == ["training_step", "on_before_optimizer_step"]
    assert hooks.gather(plain) is plain


def test_a_name_that_only_decorates_a_method_is_given(run):
    """``torch``, imported by nobody, in the head of a method; what Python brings stays as it is."""
    ran = run(
        "class Seen:\n    def __init__(self): self._rows = 0\n"
        "    @property\n    def rows(self): return self._rows\n"
        "    @rows.setter\n    def rows(self, n): self._rows = n\n"
        "    @staticmethod\n    def of(x): return len(x)\n"
        "    @torch.no_grad()\n    def __call__(self, x): self.rows += self.of(x)\n"
        "seen = Seen()\nfor x, y in train_loader:\n    seen(x)\n"
        + STEP
        + "result = seen.rows > 0\n"
    )

    assert (ran.steps, ran.result) == (14, "True")


def test_what_holds_layers_is_the_model_and_no_data(run):
    """It is iterated like a loader, and asked of each element what layer it is."""
    ran = run(
        "wrapped = torch.nn.Sequential(*(torch.nn.Identity() if isinstance(m, torch.nn.Dropout) else m for m in model))\n"
        + LOOP.replace("model(x)", "wrapped(x)")
        + "result = type(model).__name__\n"
    )

    assert (ran.outcome, ran.steps, ran.result) == ("ran", 14, "'Sequential'")


MIXED = """
class Quiet:
    def step(self, closure=None):
        return super().step(closure)

class QuietSGD(Quiet, torch.optim.SGD):
    pass

optimizer = QuietSGD(model.parameters(), lr=0.1)
for x, y in train_loader:
    criterion(model(x), y).backward()
"""


def test_the_step_of_an_optimizer_of_ones_own_is_no_loop_that_nobody_started(run):
    """A program that never steps stays one that never steps."""
    ran = run(MIXED)

    assert (ran.outcome, ran.steps, ran.calls) == ("ran", 0, [])
