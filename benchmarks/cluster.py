"""What a cluster costs beside this machine alone, what a driver can do, and how much travels.

The driver is measured by itself: everything that it does for an answer, with a grader that answers at
once what a real one answered before. So its limit shows, and its memory over 20,000 answers.
"""

import contextlib
import json
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.throughput import ANSWER, SCENARIO, memory
from harness import __version__
from harness.agents.given import given_answers
from harness.cluster.engine import HERE, connected
from harness.cluster.node_grader import packed, proposal_from, shipped
from harness.collecting import collect_seldom
from harness.domain.instruments import Instruments
from harness.domain.proposal import AnswerToJudge, Proposal
from harness.domain.scenario import Bank, Scenario
from harness.domain.stored import GradedAnswer, RunHead
from harness.extraction.assignment import Choice
from harness.instruments import jail_and_oracle
from harness.runner import Settings, grade_answers, torch_version
from harness.scenarios import default_bank, load_bank
from harness.store import RunFolder

ANSWERS = int(os.environ.get("ANSWERS", "40"))
MANY = int(os.environ.get("MANY", "20000"))
TURNS = 6
ALONE, RAY = "this machine alone", "Ray, the same cores"


def main() -> None:
    """All three."""
    collect_seldom()  # as the command line does
    bank = load_bank(default_bank())
    scenario = next(s for s in bank.scenarios if s.id == SCENARIO)
    with tempfile.TemporaryDirectory() as folder:
        some = _written(Path(folder) / "some.jsonl", scenario, ANSWERS)
        for cores in sorted({1, os.cpu_count() or 1}):
            _beside(bank, some, cores)
        _driver(bank, scenario, _written(Path(folder) / "many.jsonl", scenario, MANY), folder)


def _beside(bank: Bank, file: Path, cores: int) -> None:
    """Both engines, warm and in turns: what else the machine does meets both alike."""
    with ExitStack() as until:
        cluster = until.enter_context(connected(HERE, cores, print))
        engines = {
            ALONE: until.enter_context(jail_and_oracle(cores)),
            RAY: until.enter_context(cluster.open_instruments(cores)),
        }
        rates: dict[str, list[Rate]] = {name: [] for name in engines}
        for turn in range(-1, TURNS):  # the first does not count: processes start
            for name in (ALONE, RAY) if turn % 2 else (RAY, ALONE):
                found = _rate(bank, file, engines[name], cores)
                rates[name] += [found] if turn >= 0 else []
    for name, measured in rates.items():
        wall = median(rate.answers for rate in measured)
        used = 1e3 * median(rate.processor for rate in measured)
        print(f"{name:20} {wall:6.2f} answers a second, {used:.0f} ms of processors each")
    pairs = [*zip(rates[ALONE], rates[RAY], strict=True)]
    walls = sorted(ray.answers / alone.answers for alone, ray in pairs)
    used = median(alone.processor / ray.processor for alone, ray in pairs)
    between = f"{walls[0]:.2f} to {walls[-1]:.2f} in {TURNS} turns"
    print(
        f"{'ratio':20} {median(walls):6.2f} by wall ({between}), {used:.2f} by processor, ", end=""
    )
    print("1 core" if cores == 1 else f"{cores} cores")


def _written(path: Path, scenario: Scenario, answers: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number in range(answers):
            text = ANSWER.format(number=number, program=scenario.reference)
            file.write(f"{json.dumps({'answer': text})}\n")
    return path


class Rate(NamedTuple):
    """How fast answers are told."""

    answers: float
    """A second of the wall."""
    processor: float
    """Seconds of all processors that each takes, whoever else is on the machine."""


def _rate(bank: Bank, file: Path, tools: Instruments, cores: int) -> Rate:
    @contextmanager
    def open_already(_: int) -> Iterator[Instruments]:
        yield tools

    answers = given_answers([str(file)], None, bank, Choice(scenario=SCENARIO))
    started, used = time.perf_counter(), _processors()
    grade_answers(bank, answers, ANSWERS, Settings(jobs=cores), open_already)
    seconds = time.perf_counter() - started
    return Rate(ANSWERS / seconds, (_processors() - used) / ANSWERS)


def _processors() -> float:
    """Seconds that this process, all below it, and all that have ended there have used."""
    times, below = dict[int, int](), dict[int, list[int]]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = stat.read_bytes().rpartition(b")")[2].split()
            times[int(stat.parent.name)] = sum(map(int, fields[11:15]))
            below.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    total, left = 0, [os.getpid()]
    while left:
        pid = left.pop()
        total += times.get(pid, 0)
        left += below.get(pid, [])
    return total / os.sysconf("SC_CLK_TCK")


def _driver(bank: Bank, scenario: Scenario, file: Path, folder: str) -> None:
    asked, answer = _one(bank, file)
    data = packed(answer)
    there, back = len(pickle.dumps(asked)), len(data)
    print(f"one answer: {there / 1e3:.1f} kB go to a node, {back / 1e3:.1f} kB come back")
    print(f"one scenario, once to each node: {len(shipped(scenario).data) / 1e3:.0f} kB")
    sizes: list[int] = []

    def keep(_: GradedAnswer) -> None:
        sizes.append(memory())

    @contextmanager
    def at_once(_: int) -> Iterator[Instruments]:
        with jail_and_oracle(1) as tools:
            yield Instruments(
                tools.executor, tools.meter, elsewhere=lambda _asked, _scenario: proposal_from(data)
            )

    answers = given_answers([str(file)], None, bank, Choice(scenario=SCENARIO))
    head = RunHead(
        kind="grade",
        harness_version=__version__,
        torch_version=torch_version(),
        bank_digest=bank.digest,
        judge="none",
    )
    started, used = time.perf_counter(), time.process_time()
    with RunFolder.create(Path(folder) / "run", head) as run:
        settings = Settings(jobs=64, keep=keep, run=run)
        grade_answers(bank, answers, MANY, settings, at_once)
    seconds, used = time.perf_counter() - started, time.process_time() - used
    print(
        f"the driver: {len(sizes) / seconds:.0f} answers a second, "
        f"{1e3 * used / len(sizes):.1f} ms of its processor each"
    )
    marks = [sizes[len(sizes) * part // 10 - 1] for part in (1, 5, 10)]
    told = ", ".join(f"{size} MiB" for size in marks)
    print(f"its memory after a tenth, half and all of {len(sizes)} answers: {told}")


def _one(bank: Bank, file: Path) -> tuple[AnswerToJudge, Proposal]:
    """A question and its answer, as they travel."""
    from concurrent.futures import ThreadPoolExecutor
    from itertools import islice

    from harness.proposing import proposal_of
    from harness.trial import Probing

    (given,) = islice(given_answers([str(file)], None, bank, Choice(scenario=SCENARIO)), 1)
    scenario = next(s for s in bank.scenarios if s.id == SCENARIO)
    asked = AnswerToJudge(given.ask(scenario), "first", given.name, given.name, 0)
    with jail_and_oracle(1) as tools, ThreadPoolExecutor(2) as threads:
        return asked, proposal_of(asked, scenario, Probing(tools, threads, 0))


if __name__ == "__main__":
    main()
