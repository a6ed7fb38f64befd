"""Runs programs bound, each in a fork of one warm process: what binding patches stays out of the tests' own.

Reads a request a line (JSON), writes a reply a line. Started by ``conftest``.
"""

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_post_hook

from harness.domain.workload import WorkloadSpec
from harness.sandbox import world
from harness.sandbox.machine.spellings import install_spellings
from harness.workloads import Workload, build

initialise = dist.init_process_group


def main() -> None:
    """Serve until standard input ends."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    import pytorch_lightning  # noqa: F401 - loaded before any fork

    install_spellings()
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(scouted(request)) + "\n")
        sys.stdout.flush()


def scouted(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Run it; where a scout finds out what a name is, run it again with what is known by then."""
    known: dict[str, str] = {}
    while True:
        replies = ranks({**request, "known": known})
        found = next((r["scouted"] for r in replies if r.get("scouted")), None)
        if found is None or found[0] in known or not found[1]:
            return replies
        known |= [found]


def ranks(request: dict[str, Any]) -> list[dict[str, Any]]:
    """One reply a rank."""
    size = request.get("world_size", 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for child in [_fork(request, rank, size, folder) for rank in range(size)]:
            os.waitpid(child, 0)
        replies = [folder / f"reply-{rank}" for rank in range(size)]
        return [json.loads(r.read_text()) if r.exists() else {"error": "died"} for r in replies]


def _fork(request: dict[str, Any], rank: int, size: int, folder: Path) -> int:
    child = os.fork()
    if child:
        return child
    os.chdir(folder)
    signal.alarm(20)
    try:
        if size > 1:
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
            store = dist.FileStore(str(folder / "store"), size)
            initialise("gloo", store=store, rank=rank, world_size=size)
        reply = run(request, rank, size)
        (folder / f"reply-{rank}").write_text(json.dumps(reply))
        if size > 1:
            dist.barrier()
    finally:
        os._exit(0)


def run(request: dict[str, Any], rank: int, size: int) -> dict[str, Any]:
    """Bind and run; whatever happens is in the reply."""
    reply: dict[str, Any] = {"steps": 0, "batches": {}, "error": None, "tracked": []}

    def on_batch(epoch: int, index: int, loader: str) -> None:
        reply["batches"][loader] = reply["batches"].get(loader, 0) + 1

    def tracked(model: torch.nn.Module, name: str, *, part: bool = False) -> torch.nn.Module:
        reply["tracked"].append(name)
        return model

    def stepped(*_: object) -> None:
        reply["steps"] += 1

    for name in request.get("absent", ()):
        sys.modules[name] = None  # what an import finds where nothing is installed
    register_optimizer_step_post_hook(stepped)
    torch.manual_seed(0)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            bound = world.bind(
                request["program"], _workload(request, size), rank=rank, world_size=size,
                on_batch=on_batch, tracked=tracked, known=request["known"],
            )  # fmt: skip
            reply |= {"calls": bound.calls}
            bound.run()
            reply |= {"notes": [*bound.journal], "result": repr(vars(bound.module).get("result"))}
            reply["weights"] = [p.detach().flatten().tolist() for p in bound.models[0].parameters()]
    except world.NameScouted as scout:
        said = f"`{scout.name}` is used in no way that tells what it is"
        reply |= {"error": "Unbound", "message": said, "scouted": [scout.name, scout.role]}
    except BaseException as error:  # noqa: BLE001 - whatever a program does is the reply
        reply |= {"error": type(error).__name__, "message": str(error)}
    return reply | {"printed": printed.getvalue()}


def _workload(request: dict[str, Any], size: int) -> Workload:
    parameters = request.get("parameters", {})
    name = request.get("workload", "mlp")
    return build(WorkloadSpec(name=name, parameters=parameters, world_size=size))


if __name__ == "__main__":
    main()
