"""What one candidate costs on a warm harness, beside running the same loop as a script."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import ratio, row
from harness.domain.candidate import Candidate
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import Trace
from harness.oracle.client import Oracle
from harness.properties import judge
from harness.sandbox.executor import JailedExecutor
from harness.scenarios import default_bank, load_bank

WARM, COLD = 40, 5
TRIES = 4

SCRIPT = """
import torch
from torch import nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
{setup}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(14):
    loss = nn.functional.mse_loss(model(torch.randn(12, 16)), torch.randn(12, 3))
    (loss / 4).backward()
    if (i + 1) % 4 == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
{end}
"""

MODEL = """model = nn.Sequential(
    nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3)
)"""


def main() -> None:
    """Single process against ``python file.py``, two ranks against ``torchrun``."""
    scenarios = {s.id: s for s in load_bank(default_bank()).scenarios}
    with JailedExecutor() as executor, Oracle() as oracle, tempfile.TemporaryDirectory() as folder:
        single = scenarios["padding-and-accumulation"]
        double = scenarios["ddp-accumulation-no-sync"]
        for scenario, title in ((single, "one process"), (double, "two gloo ranks")):
            probe = scenario.probes[0]
            ours = [judged(executor, oracle, scenario, probe) for _ in range(WARM + 2)][2:]
            command = script(Path(folder), scenario.workload.world_size)
            theirs = [run(command) for _ in range(COLD)]
            print(row(f"{title}: jail, recorder, oracle, properties", ours))
            print(row(f"{title}: the same loop, {' '.join(command[1:3])} ...", theirs))
            print(ratio(f"{title}: instead", ours, theirs))


def judged(executor: JailedExecutor, oracle: Oracle, scenario: Scenario, probe: Probe) -> float:
    """Seconds from the program to its verdicts on one probe."""
    start = time.perf_counter()
    workload = scenario.workload_of(probe)
    candidate = Candidate(program=scenario.reference, origin="benchmark")
    recording = executor.execute(candidate, workload, probe)
    measured = oracle.measure(recording, workload, probe, scenario.expectations)
    judge(Trace(probes=(measured,)), scenario)
    return time.perf_counter() - start


def script(folder: Path, world_size: int) -> list[str]:
    """The command a user would type for the same loop."""
    file = folder / f"loop{world_size}.py"
    if world_size == 1:
        file.write_text(SCRIPT.format(setup=MODEL, end=""))
        return [sys.executable, "-u", str(file)]
    setup = f'dist.init_process_group("gloo")\n{MODEL}\nmodel = DDP(model)'
    file.write_text(SCRIPT.format(setup=setup, end="dist.destroy_process_group()"))
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world_size}"]
    return [sys.executable, *torchrun, str(file)]


def run(command: list[str]) -> float:
    """Seconds of one fresh run that ends well.

    torchrun is tried again: now and then a gloo thread outlives the group that was destroyed, and the
    interpreter's exit aborts ("terminate called without an active exception").
    """
    for _ in range(TRIES):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return time.perf_counter() - start
    sys.exit(f"{' '.join(command)} failed {TRIES} times:\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    main()
