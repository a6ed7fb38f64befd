"""On two ranks, a Fabric or a Trainer of Lightning trains on both of them, or is refused."""

import pytest

FABRIC = (
    "from lightning.fabric import Fabric\nfabric = Fabric(devices=4, strategy='ddp')\nfabric.launch()\n"
    "model, optimizer = fabric.setup(model, optimizer)\ntrain_loader = fabric.setup_dataloaders(train_loader)\n"
)
LOOP = (
    "for i, (x, y) in enumerate(train_loader):\n    last = (i + 1) % 4 == 0 or i + 1 == len(train_loader)\n"
    "    with fabric.no_backward_sync(model, enabled=not last):\n        fabric.backward(criterion(model(x), y) / 4)\n"
    "    if last:\n        optimizer.step()\n        optimizer.zero_grad()\n"
)
TRAINER = (
    "import lightning as L\nimport torch\nclass Lit(L.LightningModule):\n    def __init__(self, net):\n        super().__init__()\n"
    "        self.net = net\n    def training_step(self, batch, batch_idx):\n        x, y = batch\n        return criterion(self.net(x), y)\n"
    "    def configure_optimizers(self):\n        return torch.optim.SGD(self.parameters(), lr=0.1)\n"
    "trainer = L.Trainer(devices=4, strategy='ddp', max_epochs=1, accumulate_grad_batches=4)\ntrainer.fit(Lit(model), train_loader)\n"
)

PROGRAMS = {
    "a Fabric": FABRIC + LOOP,
    "a Fabric that its command line launches": (FABRIC + LOOP).replace("fabric.launch()\n", ""),
    "a Fabric that starts processes": (FABRIC + LOOP).replace("'ddp'", "'ddp_spawn'"),
    "a Fabric with a strategy of its own": "from lightning.fabric.strategies import DDPStrategy\n"
    + (FABRIC + LOOP).replace("'ddp'", "DDPStrategy(process_group_backend='nccl')"),
    "a Fabric of the other package": (FABRIC + LOOP).replace("lightning.fabric", "lightning_fabric"),
    "a Fabric that launches a function": (
        "import lightning as L\ndef train(fabric, model, train_loader, optimizer):\n"
        + "".join(f"    {line}\n" for line in (FABRIC[FABRIC.index("model") :] + LOOP).splitlines())
        + "L.Fabric(devices=2).launch(train, model, train_loader, optimizer)\n"
    ),
    "a fabric that nobody shows": LOOP,
    "a fabric that nobody shows, and that sets up": FABRIC[FABRIC.index("model") :] + LOOP,
    "a Trainer": TRAINER,
    "a Trainer on several machines": TRAINER.replace("devices=4", "devices=1, num_nodes=4"),
    "a Trainer of the other package": TRAINER.replace("import lightning as", "import pytorch_lightning as"),
    "a Trainer with a strategy of its own": "from lightning.pytorch.strategies import DDPStrategy\n"
    + TRAINER.replace("'ddp'", "DDPStrategy(find_unused_parameters=False)"),
}  # fmt: skip


@pytest.mark.parametrize("about", PROGRAMS)
def test_its_ranks_agree_after_windows_of_four(ranks, about):
    first, second = ranks(PROGRAMS[about], world_size=2)

    assert (first.outcome, second.outcome) == ("ran", "ran")
    assert first.steps == second.steps == 4
    assert first.weights == second.weights


@pytest.mark.parametrize("about", [about for about in PROGRAMS if "abric" in about])
def test_ranks_part_that_never_synchronise(ranks, about):
    """So it is the Fabric that synchronises, and no wrapper that was put around the model for it."""
    program = PROGRAMS[about].replace("enabled=not last", "enabled=True")
    first, second = ranks(program, world_size=2)

    assert (first.outcome, second.outcome) == ("ran", "ran")
    assert first.weights != second.weights


@pytest.mark.parametrize("about", [about for about in PROGRAMS if "Trainer" in about])
def test_a_trainer_wraps_the_model_for_both_ranks_itself(ranks, about):
    """Within a wrapper of ours each micro-batch was reduced, and the Trainer had no say."""
    program = PROGRAMS[about] + "result = trainer.world_size, type(model).__name__\n"

    assert [ran.result for ran in ranks(program, world_size=2)] == ["(2, 'Sequential')"] * 2


REFUSED = {
    "one device": (FABRIC.replace("devices=4", "devices=[0]"), "one device"),
    "a Trainer for one device": (TRAINER.replace("devices=4", "devices='1'"), "one device"),
    "parameters in pieces": (FABRIC.replace("'ddp'", "'fsdp'"), "'fsdp' is not the DDP of Lightning"),
    "a hook that is for other devices": (
        "from lightning.pytorch.strategies import DDPStrategy\n"
        + TRAINER.replace("'ddp'", "DDPStrategy(ddp_comm_hook=print)"),
        "leaves out on a CPU",
    ),
    "a model that was set up elsewhere": (
        FABRIC.replace("model, optimizer = fabric.setup(model, optimizer)\n", ""),
        "never sets up",
    ),
}  # fmt: skip


@pytest.mark.parametrize("about", REFUSED)
def test_what_cannot_be_run_as_it_was_meant_is_refused(ranks, about):
    program, why = REFUSED[about]
    loop = "" if "Trainer" in program else LOOP
    found = ranks(program + loop, world_size=2)

    assert [ran.error for ran in found] == ["Unbound", "Unbound"]
    assert all(why in ran.message for ran in found)


@pytest.mark.parametrize(
    "said",
    [
        "precision='16-mixed'",
        "plugins=[MixedPrecision('16-mixed', 'cuda', torch.amp.GradScaler())]",
    ],
)
def test_half_precision_of_a_fabric_has_its_loss_scale(run, said):
    """On a CPU it took bfloat16 for it, and clipped what was never scaled."""
    program = (
        "import torch\nfrom lightning.fabric.plugins import MixedPrecision\n"
        + FABRIC.replace("strategy='ddp'", said)
        + LOOP
    )
    ran = run(program + "result = fabric.strategy.precision.scaler.get_scale()\n")

    assert ran.outcome == "ran"
    assert ran.result == "65536.0"


def test_functions_that_are_launched_get_batches_in_their_form(ranks):
    """What is handed to a launcher is used as the function uses it."""
    loop = (
        "    for x, y in loader:\n        optimizer.zero_grad()\n        criterion(model(x), y).backward()\n"
        "        optimizer.step()\n"
    )
    spawned = (
        "import torch.multiprocessing as mp\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        f"def train(rank, model, loader):\n    model = DDP(model, device_ids=[rank])\n{loop}"
        "mp.spawn(train, args=(model, train_loader), nprocs=2)\n"
    )
    launched = (
        "from accelerate import Accelerator, notebook_launcher\ndef train(model, optimizer, loader):\n"
        "    model, optimizer, loader = Accelerator().prepare(model, optimizer, loader)\n"
        f"{loop}notebook_launcher(train, (model, optimizer, train_loader), num_processes=2)\n"
    )
    for program in (spawned, launched):
        first, second = ranks(program, world_size=2)

        assert first.outcome == "ran"
        assert first.steps > 0
        assert first.weights == second.weights
