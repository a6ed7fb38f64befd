"""What honest programs need still works inside the jail."""

from tests.fakes.runs import need, run

THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: report(sum=sum(pool.map(abs, range(100))))
"""


def test_threads_still_work(sandbox):
    """Refusing clone3 in the wrong way would break them."""
    assert run(sandbox, THREADS) == [{"sum": 4950}]


TRAIN = """
import os, tempfile, torch
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
torch.save(model.state_dict(), 'checkpoint.pt')
again = torch.load('checkpoint.pt')
with tempfile.NamedTemporaryFile() as file: inside = os.path.dirname(file.name) == os.getcwd()
import sympy, wave, zoneinfo
same = torch.equal(again['weight'], model.weight)
report(same=same, inside=inside, zone=str(zoneinfo.ZoneInfo('UTC')))
"""


def test_training_still_works(sandbox):
    """Steps, checkpoints, temporary files and late imports of what is allowed."""
    assert run(sandbox, TRAIN) == [{"same": True, "inside": True, "zone": "UTC"}]


def test_the_harness_cannot_be_imported(sandbox):
    """What is installed may be; the judge and its bank are not there."""
    (found,) = run(sandbox, "import harness.domain.run")

    assert found["raised"] in ("ModuleNotFoundError", "PermissionError")


ALL_REDUCE = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
model = DistributedDataParallel(torch.nn.Linear(1, 1))
model(torch.full((1, 1), float(rank))).sum().backward()
report(mean=model.module.weight.grad.item())
"""


def test_ranks_talk_inside_the_jail(sandbox):
    """Gradients are averaged over the job's own loopback."""
    assert run(sandbox, ALL_REDUCE, ranks=3) == [{"mean": 1.0}] * 3


def test_ranks_talk_where_no_network_namespace_can_be_had(sandbox):
    """They met before the lock; after it nobody opens a socket."""
    program = ALL_REDUCE + "import socket\nsocket.socket()"
    found = run(sandbox, program, "network-namespace", ranks=2)

    assert found == [{"mean": 0.5, "raised": "PermissionError", "message": found[0]["message"]}] * 2


NEW_GROUP = """
import torch, torch.distributed as dist
group = dist.new_group([0, 1], backend='gloo')
total = torch.ones(1)
dist.all_reduce(total, group=group)
report(total=total.item())
"""


def test_ranks_may_form_groups_of_their_own(sandbox):
    """With an own network, connections can still be opened after the lock."""
    need(sandbox, "network-namespace", "loopback")

    assert run(sandbox, NEW_GROUP, ranks=2) == [{"total": 2.0}] * 2


ALONE = """
import torch, torch.distributed as dist
dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)
total = torch.ones(1)
dist.all_reduce(total)
report(total=total.item())
"""


def test_a_single_process_may_form_a_group_of_one(sandbox):
    """Loops for many ranks are also run on one."""
    need(sandbox, "network-namespace", "loopback")

    assert run(sandbox, ALONE) == [{"total": 1.0}]
