"""Loops as repositories hold them: full of meters, options and helpers that train nothing."""

import pytest

STEP = "    loss = criterion(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
LOOP = "for x, y in train_loader:\n" + STEP
INSIDE = STEP.replace("\n    ", "\n        ").replace("    loss", "        loss", 1)

REPORTING = {
    "a meter of a module that is not here": (
        "import helpers\nmeter = helpers.Meter('loss')\n" + LOOP
        + "    meter.update(loss.item(), x.size(0))\n    print(f'{meter.avg:.3f}')\n"
    ),
    "a meter that a text reads": (
        "clock = Stopwatch()\n" + LOOP
        + "    clock.update(1.0)\n    print('{c.val:.2f} {n}'.format(c=clock, n=len(x) / clock.val))\n"
    ),
    "a meter that yields the batches": (
        "import helpers\n\ndef train(model, criterion, loader, optimizer, print_freq):\n"
        "    log = helpers.Log(delimiter=' ')\n    log.add('lr', helpers.Smoothed(window=1))\n"
        "    for x, y in log.every(loader, print_freq, 'Epoch'):\n" + INSIDE
        + "        log.update(loss=loss.item())\n    return {k: m.mean for k, m in log.meters.items()}\n"
    ),
    "a size that is only printed": LOOP + "    print(f'{tokens_seen * chunk.size:5d} tokens')\n",
    "an old text": LOOP + "    print('%d of %d' % (1, how_many))\n",
    "an option that only stops": LOOP + "    if options.once:\n        break\n",
    "an option against the training": (
        "for x, y in train_loader:\n    loss = criterion(model(x), y)\n    optimizer.zero_grad()\n"
        "    if not options.frozen_run:\n        loss.backward()\n    optimizer.step()\n"
    ),
    "a parameter that nothing reads": (
        "def train(model, loader, optimizer, criterion, zork: list):\n    for x, y in loader:\n" + INSIDE
    ),
    "the figure of an evaluation": (
        "plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n" + LOOP
        + "    plateau.step(evaluate(model, val_loader))\n"
    ),
    "a measure of outputs": LOOP.replace("model(x), y)", "(out := model(x)), y)")
        + "    top1, top5 = accuracy(out, y, topk=(1, 5))\n    print(top1.item(), top5[0])\n",
    "a context that a helper chooses": (
        "autocast = get_autocast(precision)\nfor x, y in train_loader:\n    with autocast():\n"
        "        loss = criterion(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n"
    ),
    "a base class that leaves the step to others": (
        "class Base:\n    def train(self):\n        for self.batch in self.loader:\n            self.step_once()\n"
        "    def step_once(self):\n        raise NotImplementedError\n\n\nclass Simple(Base):\n"
        "    def __init__(self, model, loader, optimizer):\n        self.model, self.loader = model, loader\n"
        "        self.optimizer = optimizer\n    def step_once(self):\n        x, y = self.batch\n"
        "        loss = F.mse_loss(self.model(x), y)\n        self.optimizer.zero_grad()\n        loss.backward()\n"
        "        self.optimizer.step()\n"
    ),
    "a sampler before the group": (
        "from torch.utils.data import DataLoader, DistributedSampler\n"
        "train_loader = DataLoader(dataset, batch_size=12, sampler=DistributedSampler(dataset))\n" + LOOP
    ),
    "a setting that is scaled": "cfg['decay'] *= 2.0\nprint(f\"{cfg['decay']}\")\n" + LOOP,
}  # fmt: skip


@pytest.mark.parametrize("about", REPORTING)
def test_what_only_reports_does_not_keep_a_loop_from_running(run, about):
    """Every batch is stepped on."""
    ran = run(REPORTING[about])

    assert (ran.error, ran.steps) == (None, 14), ran.message


UNCLEAR = {
    "what is made gets the optimizer": "boss = Boss()\n" + LOOP + "    boss.update(optimizer)\n",
    "what is made of the model": "boss = Boss(optimizer)\n" + LOOP + "    boss.update(1)\n",
    "an option that changes the loss": LOOP.replace(
        "    optimizer.zero_grad()\n",
        "    if options.quad:\n        loss = loss * 4.0\n    optimizer.zero_grad()\n",
    ),
    "an option that changes the window": (
        "window = 1\nif options.big:\n    window = 4\nfor i, (x, y) in enumerate(train_loader):\n"
        "    loss = criterion(model(x), y) / window\n    loss.backward()\n    if (i + 1) % window == 0:\n"
        "        optimizer.step()\n        optimizer.zero_grad()\n"
    ),
    "a number that enters the loss": LOOP.replace("y)\n", "y) + zork ** 2\n", 1),
}


@pytest.mark.parametrize("about", UNCLEAR)
def test_what_may_train_is_no_report(run, about):
    """It is named and not replaced."""
    assert run(UNCLEAR[about]).error == "Unbound"


@pytest.mark.parametrize(
    "managed",
    [
        "    if options.tame:\n        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
        "    if options.tame:\n        for p in model.parameters():\n            p.grad.clamp_(-1, 1)\n",
        "    if not options.tame:\n        pass\n    else:\n        nn.utils.clip_grad_value_(model.parameters(), 1)\n",
    ],
)
def test_an_option_that_manages_gradients_is_on(run, managed):
    """Off would be another loop than the one that was meant."""
    step = "    optimizer.step()\n"
    ran = run(LOOP.replace(step, managed + step) + "result = options.tame\n")

    assert (ran.steps, ran.result) == (14, "True"), ran.message


def test_several_ranks_are_told_that_they_are(ranks):
    """``ddp`` is true where there are two."""
    program = "if ddp:\n    print('together')\n" + LOOP + "result = bool(ddp)\n"

    assert [one.result for one in ranks(program, world_size=2)] == ["True", "True"]
    assert ranks(program)[0].result == "False"


def test_required_arguments_reach_the_program(run):
    """A positional argument without a default once came out as ``None``."""
    ran = run(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('total_epochs', type=int)\n"
        "args = parser.parse_args()\nresult = args.total_epochs\n" + LOOP
    )

    assert (ran.error, ran.result) == (None, "2")


def test_a_scaler_of_the_programs_own_is_handed_over(run):
    """A class that is called like ``loss_scaler``, and that nobody makes."""
    ran = run(
        "class OwnScaler:\n    def __call__(self, loss, optimizer):\n        loss.backward()\n        optimizer.step()\n\n"
        "def train(model, loader, optimizer, criterion, loss_scaler=None, args=None):\n    for x, y in loader:\n"
        "        optimizer.zero_grad()\n        loss = criterion(model(x), y) / args.accum_iter\n"
        "        loss_scaler(loss, optimizer)\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_turns_that_only_sometimes_step_are_batches(run):
    """``range(max_iters)`` around an update every fourth time counts micro-batches."""
    ran = run(
        "for it in range(max_iters):\n    x, y = get_batch()\n    loss = criterion(model(x), y) / accumulation\n"
        "    loss.backward()\n    if (it + 1) % accumulation == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n"
        "result = max_iters\n"
    )

    assert (ran.error, ran.result) == (None, "28"), ran.message


def test_a_threshold_that_defaults_to_none_at_all_is_given(run):
    """A default of 0 would clip everything away."""
    ran = run(
        "def train(model, loader, optimizer, criterion, max_norm=0):\n    for x, y in loader:\n"
        + INSIDE.replace(
            "        optimizer.step()",
            "        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n        optimizer.step()",
        )
    )

    assert (ran.error, ran.calls[0][-1] if ran.calls else "") == (None, "max_norm"), ran.calls


def test_a_model_under_two_names_returns_what_both_read(run):
    """It was once adapted twice, and gave a pair inside a pair."""
    ran = run(
        "class Trainer:\n    def __init__(self, model, loader, optimizer):\n"
        "        self.model, self.loader, self.optimizer = model.to('cuda'), loader, optimizer\n"
        "    def run(self):\n        net = self.model\n        for x, y in self.loader:\n"
        "            logits, self.loss = net(x, y)\n            net.zero_grad()\n            self.loss.backward()\n"
        "            self.optimizer.step()\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_a_hidden_state_comes_back_as_it_was_given(run):
    """The second of two results is a loss only where it goes backward."""
    ran = run(
        "state = None\nfor x, y in train_loader:\n    if state is not None:\n        state = state.detach()\n"
        "    out, state = model(x, state)\n    loss = criterion(out, y)\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_parameters_that_a_model_keeps_are_its_parameters(run):
    """``net.params`` of a net that is written from scratch."""
    ran = run(
        LOOP.replace(
            "    optimizer.step()\n",
            "    total = sum(p.grad.norm() ** 2 for p in model.params)\n    optimizer.step()\n",
        )
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message
