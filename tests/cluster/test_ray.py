"""A real cluster of Ray: several nodes, which share this machine, and what happens when one dies."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bank import BANK
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import as_in_a_terminal, descendants, eventually, is_gone

pytestmark = pytest.mark.full  # a cluster takes ten seconds to start, and Ray is an extra

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "tests/material/corpora/dev"
MORE = ROOT / "tests/material/corpora/first"
SOME = ",".join(scenario.id for scenario in BANK.scenarios[::4])
CLUSTER = f"""
import sys, json
sys.path.insert(0, {str(ROOT)!r})
from ray.cluster_utils import Cluster
from tests.fakes.runs import descendants

objects = {{"object_store_memory": 100 << 20}}
cluster = Cluster(initialize_head=True, head_node_args={{"num_cpus": 0, **objects}})
nodes = [cluster.add_node(num_cpus=1, **objects, **json.loads(given)) for given in sys.argv[1:]]
print(cluster.address, flush=True)
for line in sys.stdin:
    raylets = [(node.all_processes["raylet"][0].process.pid, node) for node in nodes]
    (holding,) = [node for pid, node in raylets if int(line) in descendants(pid)]
    cluster.remove_node(holding, allow_graceful=False)
    print("gone", flush=True)
cluster.shutdown()
"""


@contextmanager
def cluster(*nodes: dict[str, object]) -> Iterator[subprocess.Popen[str]]:
    """A cluster of nodes of one core each, beside a head that has none. Each line that it is sent
    is a grader's process, whose node is killed.
    """
    given = [json.dumps(node) for node in nodes]
    running = subprocess.Popen(
        [sys.executable, "-c", CLUSTER, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    try:
        running.address = running.stdout.readline().strip()
        yield running
    finally:
        running.stdin.close()
        running.wait(PATIENCE)
        running.stdout.close()


def harness(where: subprocess.Popen[str], *arguments: object, cwd: Path = ROOT) -> subprocess.Popen:
    """The harness with that cluster as its engine."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, arguments), "--engine", "ray"],
        env=os.environ | {"RAY_ADDRESS": where.address},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        preexec_fn=as_in_a_terminal,  # noqa: PLW1509 - no thread of this process holds a lock
    )


def the_rest(running: subprocess.Popen[str]) -> tuple[str, str]:
    """What it prints after lines that were read: `communicate` loses what was read ahead."""
    with ThreadPoolExecutor(1) as beside:
        said = beside.submit(running.stderr.read)
        rest = running.stdout.read()
        running.wait()
        return rest, said.result()


def told(lines: str) -> dict[str, str]:
    """What is said about each answer, but for its times."""
    found = [untimed(json.loads(line)) for line in lines.splitlines()]
    assert len({answer["file"] for answer in found}) == len(found)  # each is told once
    return {answer["file"]: json.dumps(answer, sort_keys=True) for answer in found}


def untimed(value):
    if isinstance(value, dict):
        times = ("seconds", "wall_seconds")
        return {key: untimed(part) for key, part in value.items() if key not in times}
    return [untimed(part) for part in value] if isinstance(value, list) else value


def locally(*arguments: object) -> str:
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False).stdout


@pytest.fixture(scope="module")
def two_nodes():
    """For tests that leave a cluster as it was."""
    with cluster({}, {}) as nodes:
        yield nodes


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--scenario", SOME),
        ("quality", "--scenario", "zero-grad-missing"),
        ("check", ROOT / "tests/material/faulty-skill", "--fresh"),
        pytest.param(("run",), marks=pytest.mark.every),
        pytest.param(
            ("check", ROOT / "skill/gradient-management", "--fresh"), marks=pytest.mark.every
        ),
    ],
    ids=["some scenarios", "mutants", "a skill", "all scenarios", "our skill"],
)
def test_two_nodes_say_what_is_said_here(two_nodes, command):
    """Of loops and fixes, mutants, and a skill's blocks; nothing differs but times."""
    with harness(two_nodes, *command, "--json") as running:
        there = json.loads(running.communicate()[0])
    here = json.loads(locally(*command, "--json"))

    assert len(there) > 3
    assert untimed(there) == untimed(here)


def test_a_node_that_dies_in_mid_run_loses_nothing(tmp_path):
    """What it was asked is judged elsewhere, and stored once; as a local run judges it."""
    files = [*sorted(ANSWERS.glob("*.md")), *sorted(MORE.glob("*.md"))[:20]]  # for some seconds
    run = tmp_path / "run"
    command = ("grade", "--json", "--out", run, *files)
    with cluster({}, {}, {}) as nodes, harness(nodes, *command) as running:
        first = running.stdout.readline()
        assert eventually(lambda: at_work(nodes))
        nodes.stdin.write(f"{at_work(nodes)[0]}\n")
        nodes.stdin.flush()
        rest, said = the_rest(running)

    there = told(first + rest)
    assert "others do its work" in said
    assert running.returncode == 1  # some of them are wrong
    assert there == told(locally("grade", "--json", *files))
    assert len((run / "answers.jsonl").read_text().splitlines()) == len(files)


def test_a_grader_that_is_killed_loses_nothing_and_leaves_nothing(tmp_path):
    """Its jail ends with it, and another begins."""
    files = sorted(ANSWERS.glob("*.md"))
    with cluster({}) as nodes, harness(nodes, "grade", "--json", *files) as running:
        first = running.stdout.readline()
        assert eventually(lambda: at_work(nodes))
        (grader,) = at_work(nodes)
        its_own = descendants(grader)
        os.kill(grader, signal.SIGKILL)
        rest, said = the_rest(running)

    assert "others do its work" in said
    assert told(first + rest) == told(locally("grade", "--json", *files))
    assert all(eventually(lambda pid=pid: is_gone(pid)) for pid in its_own)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_ends_in_mid_run_leaves_nothing_and_goes_on(tmp_path, number):
    """By Ctrl-C or by force: the same command ends the work, and does none of it twice."""
    files, run = sorted(ANSWERS.glob("*.md"))[:6], tmp_path / "run"
    command = ("grade", "--json", "--out", run, *files)
    with cluster({}) as nodes:
        with harness(nodes, *command) as running:
            running.stdout.readline()
            running.send_signal(number)
            running.communicate()
        assert eventually(lambda: not graders_of(nodes))
        stored = len((run / "answers.jsonl").read_text().splitlines())
        with harness(nodes, *command) as again:
            lines, said = again.communicate()

    assert stored >= 1
    assert f"{stored} answer" in said
    assert told(lines) == told(locally("grade", "--json", *files))


def test_a_node_with_another_torch_takes_no_programs_and_doctor_says_why(tmp_path):
    """Its verdicts would not be ours."""
    other = tmp_path / "torch-2.0.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.0.0\n")
    files = sorted(ANSWERS.glob("*.md"))[:2]
    with cluster({}, {"env_vars": {"PYTHONPATH": str(tmp_path)}}) as nodes:
        with harness(nodes, "doctor", "--json") as asked:
            offers = json.loads(asked.communicate()[0])["offers"]
        with harness(nodes, "grade", "--json", *files) as running:
            lines, _ = running.communicate()

    whole, *of_nodes = sorted(offers, key=lambda offer: (offer["name"] != "cluster", offer["have"]))
    assert [offer["have"] for offer in (whole, *of_nodes)] == ["partly", "no", "yes"]
    assert "it has torch 2.0.0" in of_nodes[0]["detail"]
    assert len(told(lines)) == 2


def test_harness_and_bank_travel_to_a_node_that_has_others(tmp_path):
    """What is installed there does not count; the bank's own properties and workloads go along."""
    other = tmp_path / "there" / "harness"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise ImportError('this is not the harness that asks')\n")
    there = {"env_vars": {"PYTHONPATH": str(other.parent)}}
    command = ("run", "--scenario", "same-tail-dropped", "--json")
    with cluster(there) as nodes, harness(nodes, *command, cwd=tmp_path) as running:
        found, said = running.communicate()

    assert said == ""
    assert untimed(json.loads(found)) == untimed(json.loads(locally(*command)))


def graders_of(nodes: subprocess.Popen[str]) -> set[int]:
    """The processes of a cluster that hold a jail; Ray names them after their class."""
    return {p for p in descendants(nodes.pid) if command_of(p).startswith(b"ray::NodeGrader")}


def at_work(nodes: subprocess.Popen[str]) -> list[int]:
    """Those that judge a program. One that still opens its jail has no work that could be lost."""
    return [pid for pid in graders_of(nodes) if b".propose" in command_of(pid)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
