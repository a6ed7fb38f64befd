"""On two ranks, DDP is what the program makes of it, or what it takes for granted."""

import pytest

from tests.sampling import sampled

PLAIN = "for x, y in train_loader:\n    optimizer.zero_grad()\n    criterion(model(x), y).backward()\n    optimizer.step()\n"

PROGRAMS = {
    "wrapped by the program": "from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(model, device_ids=[local_rank], output_device=local_rank)\n"
    + PLAIN,
    "taken for granted": PLAIN,
    "used without sync": (
        "for i, (x, y) in enumerate(train_loader):\n    if (i + 1) % accumulation_steps:\n        with model.no_sync():\n"
        "            (criterion(model(x), y) / accumulation_steps).backward()\n    else:\n"
        "        (criterion(model(x), y) / accumulation_steps).backward()\n        optimizer.step()\n        optimizer.zero_grad()\n"
    ),
    "averaged by hand": PLAIN.replace(
        "    optimizer.step()",
        "    for p in model.parameters():\n        dist.all_reduce(p.grad)\n        p.grad /= dist.get_world_size()\n    optimizer.step()",
    ),
    "a whole script": (
        "import os, torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "def main():\n    dist.init_process_group('nccl')\n    rank = int(os.environ['LOCAL_RANK'])\n    torch.cuda.set_device(rank)\n"
        "    net = DDP(Net().to(rank), device_ids=[rank])\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n    for x, y in train_loader:\n"
        "        opt.zero_grad()\n        criterion(net(x.to(rank)), y.to(rank)).backward()\n        opt.step()\n"
        "    dist.destroy_process_group()\nif __name__ == '__main__':\n    main()\n"
    ),
}


@pytest.mark.parametrize("about", sampled(PROGRAMS, 2))
def test_ranks_agree(ranks, about):
    """Both ranks run to the end, with the same weights after different data."""
    first, second = ranks(PROGRAMS[about], world_size=2)

    assert (first.outcome, second.outcome) == ("ran", "ran")
    assert first.steps == second.steps > 0
    assert first.weights == second.weights


def test_a_model_averaged_by_hand_is_not_wrapped(ranks):
    """Gradients that the program reduces itself are not reduced twice."""
    ran = ranks(PROGRAMS["averaged by hand"] + "result = type(model).__name__\n", world_size=2)[0]

    assert ran.result == "'Sequential'"


def test_a_mesh_of_gpus_is_one_of_processes(ranks):
    """FSDP asked the mesh for its device, and torch has none of that kind here."""
    mesh = "from torch.distributed.device_mesh import init_device_mesh\nmesh = init_device_mesh('cuda', (2,))\n"
    ran = ranks(f"{mesh}{PLAIN}result = mesh.device_type, mesh.size()\n", world_size=2)[0]

    assert ran.result == "('cpu', 2)"


@pytest.mark.full
def test_a_model_that_a_class_of_its_own_wraps_is_wrapped_once(ranks):
    """Within another DDP each micro-batch was reduced, and ``no_sync`` had no say."""
    program = (
        "class Mine(DDP):\n    def predict(self, *args):\n        return self.module.forward(*args)\n"
        "model = Mine(model, device_ids=[local_rank])\n"
    )
    first, second = ranks(f"{program}{PLAIN}result = type(model.module).__name__\n", world_size=2)
    past, also = ranks(program + PLAIN.replace("model(x)", "model.predict(x)"), world_size=2)

    assert (first.result, first.weights) == ("'Sequential'", second.weights)
    assert past.outcome == "ran"
    assert past.weights != also.weights


def test_ranks_know_who_they_are(ranks):
    """Rank, world size and device are each rank's own."""
    replies = ranks(
        PLAIN
        + "import os\nresult = (os.environ['RANK'], torch.cuda.current_device(), torch.cuda.device_count())\n",
        world_size=2,
    )

    assert [r.result for r in replies] == ["('0', 0, 2)", "('1', 1, 2)"]
