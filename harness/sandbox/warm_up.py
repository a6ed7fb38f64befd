"""Everything that a first training step loads lazily, done once before any fork."""

import contextlib
import gc
import importlib
import importlib.util
import os
import re
import sys
import threading
import time

from harness.beside import unpacked
from harness.collecting import uncollected


class StillThreaded(RuntimeError):
    """A thread is alive after the warm-up: a fork would lose it, and whoever waits for it hangs."""


ENDING = 2.0
"""Seconds that a thread may take to end."""

FRAMEWORKS = {
    "lightning": "lightning",
    "pytorch_lightning": "pytorch_lightning",  # another module tree, not an alias of the former
    "accelerate": "accelerate.data_loader",
    "transformers": "transformers.trainer",
    "pytest": "harness.sandbox.tested.packages",
    "torchvision": "torchvision",
}
"""What to import for programs that name a package. Each takes a second or more, and its pages make every
later fork slower, so none is imported before a program names it.
"""

_COMMENT = re.compile(r"""#[^'"\n]*$""", re.MULTILINE)
_WORDS = {
    "lightning": re.compile(
        r"lightning|Fabric|(?-i:\bL\.)|\bpl\b|Trainer|Callback|rank_zero|gradient_clip"
        r"|training_step|configure_\w+|\bon_(?:before|after|train)_\w+",
        re.IGNORECASE,
    ),
    "pytorch_lightning": re.compile(r"pytorch_lightning"),
    "accelerate": re.compile(r"accelerat", re.IGNORECASE),
    "transformers": re.compile(
        r"transformers|TrainingArguments|TrainerCallback|AutoModel|AutoTokenizer"
    ),
    "torchvision": re.compile(r"torchvision"),
}


def frameworks_of(program: str) -> tuple[str, ...]:
    """The packages that a program may use. One too many costs seconds once; one too few cannot be
    imported later, because the jail opens no folder that only the package itself needs.
    """
    code = _COMMENT.sub("", unpacked(program).sources)
    return tuple(name for name, words in _WORDS.items() if words.search(code))


def import_framework(name: str) -> None:
    """Import what programs need of a package, where it is installed."""
    with (
        uncollected(),
        contextlib.suppress(ImportError),
    ):  # absent or broken: the program will meet it
        importlib.import_module(FRAMEWORKS[name])


def warm_up_torch() -> None:
    """Import torch and take one step of each kind that candidates will take."""
    with uncollected():
        import torch

        torch.set_num_threads(1)  # before the first operation, or forked children hang in OpenMP
        torch.set_num_interop_threads(1)
        import torch._dynamo  # the first DistributedDataParallel would load it

    torch.manual_seed(0)
    _step_optimizers()
    _step_scaled()
    _step_distributed()


def settle() -> None:
    """Make the process ready to fork.

    Raises:
        StillThreaded: a thread is alive.
    """
    # Under Landlock a folder of packages cannot be listed, and an import system that has not
    # listed it yet would find nothing in it, not even what is allowed.
    importlib.util.find_spec("a_name_that_no_package_has")
    others = [
        thread.name for thread in threading.enumerate() if thread is not threading.main_thread()
    ]
    tasks = _tasks()
    if others or tasks != 1:
        raise StillThreaded(f"{tasks} threads after the warm-up; of Python: {others}")
    gc.collect()
    gc.freeze()


def _tasks() -> int:
    """Threads of this process. One that was joined may be listed a moment longer: the kernel wakes who
    joins it before it takes it off, and gloo's threads ended just now.
    """
    end = time.monotonic() + ENDING
    while (tasks := len(os.listdir("/proc/self/task"))) > 1 and time.monotonic() < end:
        time.sleep(0.001)
    return tasks


def forget_path(entry: str) -> None:
    """Take a folder off the import path; what was imported from it stays."""
    sys.path[:] = [path for path in sys.path if path != entry]


def _step_optimizers() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        optimizer = kind(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 1])).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


def _step_scaled() -> None:
    import torch

    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    with torch.autocast("cpu"):
        loss = model(torch.ones(2, 4)).float().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def _step_distributed() -> None:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    store = dist.HashStore()  # type: ignore[attr-defined]  # torch exports it unsaid
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    model(torch.ones(2, 4)).mean().backward()
    with model.no_sync():
        model(torch.ones(2, 4)).mean().backward()
    del model
    gc.collect()  # the reducer holds the group, and the group its threads
    dist.destroy_process_group()
