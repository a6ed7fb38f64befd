"""Programs that are pasted without what they are built on: a constructor, a base class, a fabric."""

import pytest

LOADED = """
class Recipe{base}:{init}
    def train(self):
        for step, (x, y) in enumerate(self._loader):
            loss = self._loss_fn(self._model(x), y)
            self._optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._model.parameters(), self.cfg.max_norm)
            self._optimizer.step()
            for metric in self.metrics:
                self.writer.add_scalar(metric.__name__, metric(x, y), step)
"""

INIT = """
    def __init__(self, model, config, valid_loader=None):
        super().__init__(model, config)
        self.cfg = config
        self.every = 10
"""


@pytest.mark.parametrize(
    ("base", "init"), [("", ""), ("(object)", ""), ("(BaseTrainer)", INIT), ("(BaseTrainer)", "")]
)
def test_what_a_class_reads_and_nothing_sets_is_there(run, base, init):
    """Its constructor, or the class that it is built on, stayed at home."""
    ran = run(LOADED.format(base=base, init=init))

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_what_nothing_tells_hinders_nobody_where_it_is_not_read(run):
    """A method that is never called reads much."""
    other = "\n    def other(self):\n        return self.mystery(self.thing[3], self.more) + 1\n"

    assert run(LOADED.format(base="", init=other)).steps == 14
    called = run(LOADED.format(base="", init=other) + "        self.other()\n")

    assert called.error == "Unbound"


def test_what_a_whole_class_reads_and_never_sets_is_missing(run):
    """It fails where it would fail for anybody."""
    ran = run(LOADED.format(base="", init="\n    def __init__(self):\n        self.every = 10\n"))

    assert ran.error == "AttributeError"


def test_an_unseen_base_of_a_network_is_a_module(run):
    """A template's ``BaseModel`` adds nothing that trains."""
    ran = run(
        "class Net(BaseModel):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(8, 3)\n    def forward(self, x):\n        return self.fc(x)\n"
        "model = Net()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for x, y in train_loader:\n    optimizer.zero_grad()\n"
        "    criterion(model(x), y).backward()\n    optimizer.step()\n"
        "result = isinstance(model, nn.Module)\n"
    )

    assert (ran.error, ran.steps, ran.result) == (None, 14, "True"), ran.message


ONE_STEP = """
class Trainer(TrainerBase):
    def __init__(self, model, loader, optimizer):
        self.model, self.optimizer, self.batches = model, optimizer, iter(loader)

    def run_step(self):
        losses = 0
        for _ in range({each}):
            x, y = next(self.batches)
            losses = losses + criterion(self.model(x), y) / {each}
        self.optimizer.zero_grad()
        losses.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(("each", "updates"), [(1, 14), (4, 3)])
def test_a_method_that_makes_one_update_is_called_for_a_whole_pass(run, each, updates):
    """One update alone shows nothing, and learns little."""
    ran = run(ONE_STEP.format(each=each))

    assert (ran.error, ran.steps) == (None, updates), ran.message


FABRIC = """
def fit(fabric, model, optimizer, loader):
    for i, (x, y) in enumerate(loader):
        waiting = (i + 1) % 2 != 0
        with fabric.no_backward_sync(model, enabled=waiting):
            fabric.backward(criterion(model(x), y) / 2)
        if not waiting:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
            fabric.print(i)
"""

SET_UP = """
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(train_loader)
for x, y in loader:
    optimizer.zero_grad()
    fabric.backward(criterion(model(x), y))
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()
"""


@pytest.mark.parametrize(("program", "updates"), [(FABRIC, 7), (SET_UP, 14)])
def test_a_fabric_that_nobody_makes_is_one_of_lightnings(run, program, updates):
    """Whether it is handed what it has set up, or sets it up here."""
    ran = run(program)

    assert (ran.error, ran.steps) == (None, updates), ran.message


GAN = """
{made}
for real, _ in train_loader:
    n = real.size(0)
    fake = generator(torch.randn(n, latent_dim))
    discriminator.zero_grad()
    {loss}(discriminator(real), torch.full((n,), 1.0)).backward()
    {loss}(discriminator(fake.detach()), torch.zeros(n)).backward()
    optimizer_d.step()
    generator.zero_grad()
    {loss}(input=discriminator(fake), target=torch.full((n,), 1.0)).backward()
    optimizer_g.step()
"""


@pytest.mark.parametrize(
    ("made", "loss"),
    [
        ("bce = nn.BCEWithLogitsLoss()", "bce"),
        ("", "F.binary_cross_entropy_with_logits"),
    ],
)
def test_labels_of_scores_may_lie_flat(run, made, loss):
    """The program's own network ended in one dimension less."""
    ran = run(GAN.format(made=made, loss=loss), workload="gan")

    assert ran.outcome == "ran"
    assert ran.steps == 2 * ran.batches["train"]


def test_a_loader_around_which_somebody_reports_yields_what_it_yields(run):
    """And the numbers that are reported are no losses to compare."""
    ran = run(
        "meters = utils.MetricLogger(delimiter='  ')\n"
        "for x, y in meters.log_every(train_loader, 10):\n"
        "    loss = model(x, y)\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n    shared = utils.all_reduce_mean(loss.item())\n"
        "    meters.update(loss=shared)\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


LOOP = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"

DATA = {
    "parts of a dataset": (
        "data = CarvanaDataset(dir_img)\nn_val = int(len(data) * 0.1)\n"
        "train_set, val_set = random_split(data, [len(data) - n_val, n_val])\n"
        "loader = DataLoader(train_set, shuffle=True, batch_size=2)\n"
        "for batch in loader:\n    loss = criterion(model(batch['image']), batch['mask'])\n"
    ),
    "a dataset of that name": (
        "loader = DataLoader(Dataset(folder), batch_size=2, shuffle=True)\n"
        "for x, y in loader:\n    loss = criterion(model(x), y)\n"
    ),
    "inputs in a mapping": (
        "for inputs, labels in train_loader:\n    for k, v in inputs.items():\n"
        "        inputs[k] = v.to(device)\n    loss = criterion(model(inputs), labels)\n"
    ),
    "boxes beside images": (
        "for data in train_loader:\n    loss_a, loss_b = model(data['img'], data['annot'])\n"
        "    loss = loss_a.mean() + loss_b.mean()\n"
    ),
    "progress without an import": (
        "for x, y in tqdm.tqdm(train_loader, desc='train'):\n    loss = criterion(model(x), y)\n"
    ),
}


@pytest.mark.parametrize("case", DATA)
def test_batches_come_as_the_program_takes_them(run, case):
    """The same batches, and the same training."""
    ran = run(DATA[case] + LOOP)
    plain = run("for x, y in train_loader:\n    loss = criterion(model(x), y)\n" + LOOP)

    assert ran.error is None, ran.message
    flat = [value for row in ran.weights for value in row]
    assert flat == pytest.approx([value for row in plain.weights for value in row], abs=1e-6)


def test_names_within_annotations_are_names_of_types(run):
    """Of classes that nobody imports."""
    ran = run(
        "def train(model: nn.Module, loss_fn: DistillationLoss, loader: Iterable, optimizer,\n"
        "          ema: Optional[ModelEma] = None, mix: Optional[Mixup] = None) -> Dict[str, Meter]:\n"
        "    for x, y in loader:\n        loss = loss_fn(model(x), y)\n"
        + "".join(f"    {line}\n" for line in LOOP.splitlines())
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


def test_a_function_that_leaves_backward_and_step_to_a_scaler_trains(run):
    """It was never called, for it does neither itself."""
    ran = run(
        "def train_one_epoch(model, criterion, loader, optimizer, loss_scaler, max_norm=0):\n"
        "    for i, (x, y) in enumerate(loader):\n        loss = criterion(model(x), y) / 2\n"
        "        loss_scaler(loss, optimizer, parameters=model.parameters(),\n"
        "                    update_grad=(i + 1) % 2 == 0)\n"
        "        if (i + 1) % 2 == 0:\n            optimizer.zero_grad()\n"
    )

    assert (ran.error, ran.steps) == (None, 7), ran.message
