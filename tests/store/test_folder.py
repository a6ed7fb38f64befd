"""A run on disk is only ever added to, and whole after a kill at any moment."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from harness.domain.answer import AnswerGrade
from harness.domain.errors import UsageError
from harness.domain.stored import GradedAnswer, RunHead, StoredAnswer
from harness.domain.trace import Trace
from harness.store import RunFolder, folder
from tests.fakes.disk import no_file_longer_than
from tests.fakes.traces import learning, probe, trace, update

ROOT = Path(__file__).resolve().parents[2]


def head(**changed: object) -> RunHead:
    same = {
        "kind": "grade",
        "harness_version": "1",
        "torch_version": "2",
        "bank_digest": "abc",
        "judge": "none",
    }
    return RunHead.model_validate({**same, **changed})


def told(key: str, *traces: Trace) -> GradedAnswer:
    return GradedAnswer(StoredAnswer(key=key, agent="a", answer=AnswerGrade(file=key)), traces)


def test_what_is_added_is_read_back(tmp_path):
    """Answers in order, traces number by number, infinities included."""
    seen = trace(probe("loud", update(0, true=float("inf"), consumed=1.0)))
    with RunFolder.create(tmp_path / "run", head()) as run:
        run.add(told("x", seen))
        run.add(told("y"))

    with RunFolder.load(tmp_path / "run") as run:
        assert [stored.key for stored in run] == ["x", "y"]
        assert run.traces(run["x"]) == (seen,)
        assert run.head == head()


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_last_line_without_its_end_is_taken_away(tmp_path, cut):
    """A kill in the middle of a write costs the answer that was being written, and no other."""
    with RunFolder.create(tmp_path / "run", head()) as run:
        run.add(told("x"))
        run.add(told("y"))
    lines = tmp_path / "run" / "answers.jsonl"
    lines.write_bytes(lines.read_bytes()[:-cut])

    with RunFolder.create(tmp_path / "run", head()) as run:
        assert [stored.key for stored in run] == ["x"]
        run.add(told("z"))

    with RunFolder.load(tmp_path / "run") as run:
        assert [stored.key for stored in run] == ["x", "z"]


def test_an_answer_that_the_disk_has_no_room_for_leaves_no_half_line(tmp_path):
    """The disk takes a part of it, and has room again for the next answer."""
    with RunFolder.create(tmp_path / "run", head()) as run:
        run.add(told("x"))
        size = (tmp_path / "run" / "answers.jsonl").stat().st_size
        with no_file_longer_than(size + 10), pytest.raises(UsageError, match="File too large"):
            run.add(told("y"))
        run.add(told("z"))

    with RunFolder.load(tmp_path / "run") as run:
        assert [stored.key for stored in run] == ["x", "z"]


START = """
import resource, signal, sys
from pathlib import Path
from harness.store import RunFolder, folder
from tests.store.test_folder import head
signal.signal(signal.SIGXFSZ, signal.Handlers[sys.argv[2]])
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
RunFolder.create(Path(sys.argv[1]), head())
"""


@pytest.mark.parametrize(
    ("on_signal", "said"),
    [
        pytest.param("SIG_IGN", "File too large", id="full", marks=pytest.mark.full),
        pytest.param("SIG_DFL", "", id="killed"),
    ],
)
def test_a_start_that_was_cut_short_is_made_again(tmp_path, on_signal, said):
    """A disk that is full, or a kill, in the middle of the first file."""
    command = [sys.executable, "-c", START, str(tmp_path / "run"), on_signal]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr

    with RunFolder.create(tmp_path / "run", head()) as run:
        run.add(told("x", trace()))

    assert len(list((tmp_path / "run" / "traces").iterdir())) == 1


def test_a_trace_that_the_disk_has_no_room_for_leaves_no_file(tmp_path):
    """What it took would be missing where the next one needs room."""
    with RunFolder.create(tmp_path / "run", head()) as run:
        with no_file_longer_than(20), pytest.raises(UsageError, match="File too large"):
            run.add(told("y", trace()))

        assert list((tmp_path / "run" / "traces").iterdir()) == []


def test_of_an_answer_that_is_told_twice_the_last_counts(tmp_path):
    """An overloaded server, and the answer that came at the second try."""
    with RunFolder.create(tmp_path / "run", head()) as run:
        run.add(told("x"))
        later = StoredAnswer(key="x", agent="b", answer=AnswerGrade(file="x"))
        run.add(GradedAnswer(later))

    with RunFolder.load(tmp_path / "run") as run:
        assert [stored.agent for stored in run] == ["b"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bank_digest": "def"}, "bank_digest = 'abc', not 'def'"),
        ({"judge": "replay:r"}, "judge = 'none', not 'replay:r'"),
        ({"seed": 1}, "seed = 0, not 1"),
    ],
)
def test_answers_that_were_made_otherwise_do_not_join_a_run(tmp_path, changed, said):
    """The sentence names what differs."""
    RunFolder.create(tmp_path / "run", head()).close()

    with pytest.raises(UsageError, match=said):
        RunFolder.create(tmp_path / "run", head(**changed))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    """It may be anything."""
    (tmp_path / "thesis.tex").write_text("...")

    with pytest.raises(UsageError, match="expected a stored run, or a folder that is new or empty"):
        RunFolder.create(tmp_path, head())

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_writers_do_not_share_a_run(tmp_path):
    """The second is told so."""
    with (
        RunFolder.create(tmp_path / "run", head()),
        pytest.raises(UsageError, match="another process is writing"),
    ):
        RunFolder.create(tmp_path / "run", head())


def test_a_trace_of_earlier_days_may_say_more_than_one_of_today(tmp_path):
    """Its keys that nothing reads any more are passed over, so ``regrade`` still judges it."""
    seen = trace(probe("loud", learning=learning()))
    with RunFolder.create(tmp_path / "run", head()) as run:
        stored = run.add(told("x", seen))
        (file,) = (tmp_path / "run" / "traces").iterdir()
        old = json.loads(gzip.decompress(file.read_bytes()))
        old["probes"][0]["oracle_problem"] = None
        old["probes"][0]["learning"]["true_norms"] = {"net.0.weight": 0.5}
        file.write_bytes(gzip.compress(json.dumps(old).encode()))

        assert run.traces(stored) == (seen,)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{}",
        b"not gzip",
        gzip.compress(b"{}")[:10] + b"\xff" * 20,
        gzip.compress(bytes(65 << 20)),
    ],
    ids=["empty", "no archive", "other text", "a broken archive", "one that unpacks to too much"],
)
def test_a_trace_that_is_not_as_it_was_written_is_named(tmp_path, damage):
    """With its file."""
    with RunFolder.create(tmp_path / "run", head()) as run:
        stored = run.add(told("x", trace(probe("loud"))))
        (file,) = (tmp_path / "run" / "traces").iterdir()
        file.write_bytes(damage)

        with pytest.raises(UsageError, match=f"{file.name}: expected a stored trace"):
            run.traces(stored)


@pytest.mark.parametrize("guarded", [True, False])
def test_a_stored_trace_is_only_unpacked_up_to_the_limit(guarded, monkeypatch, tmp_path):
    """A file of kilobytes took gigabytes."""
    monkeypatch.setattr(folder, "_LONGEST", 1 << 16 if guarded else 1 << 26)
    tracemalloc.start()
    with RunFolder.create(tmp_path / "run", head()) as run:
        stored = run.add(told("x", trace(probe("loud"))))
        (file,) = (tmp_path / "run" / "traces").iterdir()
        file.write_bytes(gzip.compress(bytes(3 << 20)))
        tracemalloc.reset_peak()

        with pytest.raises(UsageError, match="unpacks to more" if guarded else "expected a stored"):
            run.traces(stored)

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (most < 3 << 20) == guarded


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("run.json", "{}", r"run\.json: this version cannot read it: kind: it is missing"),
        (
            "answers.jsonl",
            "{}\n",
            r"answers\.jsonl:1: expected a stored answer: key: it is missing",
        ),
    ],
)
def test_a_damaged_run_is_named_with_what_is_wrong_in_it(tmp_path, file, text, said):
    """The file, the line and the first thing that is not as it was written."""
    RunFolder.create(tmp_path / "run", head()).close()
    (tmp_path / "run" / file).write_text(text)

    with pytest.raises(UsageError, match=said):
        RunFolder.load(tmp_path / "run")


def test_a_run_that_somebody_else_made_leads_nowhere_and_keeps_nobody_waiting(tmp_path):
    """A pipe in the place of the answers was waited for; a trace could be any file."""
    with RunFolder.create(tmp_path / "run", head()) as run:
        stored = run.add(told("x", trace(probe("loud"))))
        (file,) = (tmp_path / "run" / "traces").iterdir()
        file.rename(tmp_path / "elsewhere.json.gz")
        with pytest.raises(UsageError, match="no name of a trace"):
            run.traces(stored.model_copy(update={"traces": ("../../elsewhere",)}))
    (tmp_path / "run" / "answers.jsonl").unlink()
    os.mkfifo(tmp_path / "run" / "answers.jsonl")

    with pytest.raises(UsageError, match="a named pipe, not a file"):
        RunFolder.load(tmp_path / "run")


SMALL = 4096
"""Bytes that a pipe holds: two answers or so. Whoever writes more waits for the reader."""


@pytest.mark.full
def test_a_batch_that_is_killed_in_the_middle_goes_on_and_loses_nothing(tmp_path):
    """Real answers through the real jail; SIGKILL when some are stored, and not all have room in the pipe."""
    files = []
    for number in range(24):
        files.append(tmp_path / f"{number}.md")
        files[-1].write_text(f"```python\n{_loop(number)}```\n")
    run = tmp_path / "run"
    command = [sys.executable, "-m", "harness", "grade", *map(str, files), "--json"]
    command += ["--scenario", "padding-and-accumulation", "--out", str(run)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, pipesize=SMALL, start_new_session=True
    ) as first:
        assert first.stdout is not None
        for _ in range(5):
            first.stdout.readline()
        os.killpg(first.pid, signal.SIGKILL)
    with RunFolder.load(run) as before:
        kept = {stored.key for stored in before}

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert 5 <= len(kept) < 24
    assert f"{len(kept)} answers are in" in done.stderr
    assert len(done.stdout.splitlines()) == 24
    with RunFolder.load(run) as after:
        assert len(after) == 24
        assert kept <= {stored.key for stored in after}
        lines = (run / "answers.jsonl").read_bytes().splitlines()
        assert len(lines) == 24


def _loop(number: int) -> str:
    return f"""
optimizer.zero_grad()  # answer {number}
for i, (x, y) in enumerate(train_loader):
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
