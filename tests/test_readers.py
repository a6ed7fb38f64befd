"""Each reader of what strangers hand in, by what it reads: any bytes are read or refused, and soon."""

import gzip
import os
import tarfile
import threading
import time
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agents.evals import read_evals
from harness.agents.replay import ReplayAgent
from harness.agents.repository import with_modules
from harness.agents.triggers import load_triggers
from harness.beside import unpacked
from harness.checking.folder import load_skill
from harness.cli.arms import arms_below
from harness.cli.configuring import _read as settings_of
from harness.comparison.benchmark import arms_of_benchmark
from harness.domain.answer import AnswerGrade
from harness.domain.errors import UserError
from harness.domain.model import Turn
from harness.domain.own import OWN_SCENARIO
from harness.domain.stored import StoredAnswer
from harness.domain.transcript import Transcript
from harness.extraction import extract
from harness.extraction.assignment import read_map
from harness.quality.sources import read_sources
from harness.report.coverage import load_coverage
from harness.rubric.labels import read_labels
from harness.rubric.replay import ReplayedJudge, key_of
from harness.sandbox.own_files import own_files
from harness.scenarios import load_bank
from harness.scenarios.programs import render
from harness.store import RunFolder
from harness.transcripts import read
from harness.untrusted import SECONDS, read_bytes
from tests.bank import BANK
from tests.fakes.bank import PROMPT, SCENARIO

LARGEST = 1 << 20  # of one example: readers that take more are met by tests/test_untrusted
FENCED = b"```python\nloss.backward()\noptimizer.step()\n```\n"
HUNK = b"```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n```\n"
CELLS = b'{"cells": [{"cell_type": "code", "source": ["x = 1"]}], "nbformat": 4}'
SAMPLE = b'{"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "done"}]}'
SKILL = b"---\nname: a\ndescription: b\n---\n" + FENCED
EVALS = b'{"evals": [{"id": 1, "prompt": "Clip?", "files": ["a"], "expectations": ["clips"]}]}'
TRIED = b'{"runs": [{"eval_id": 1, "configuration": "a", "run_number": 1, "result": {}}]}'
TRIGGERS = b"should:\n- {id: a, prompt: b}\nshould_not:\n- {id: c, prompt: d}\n"
LABELS = b"a.md: {scenario: clip-after-step, criteria: {a: {met: true}}}\n"
SENT = b'x = 1\n__files_beside__ = {"package": "", "files": {"a": ["a.py", ""]}}\n'
STORED = b'{"key": "a", "agent": "b", "answer": {"file": "c"}}\n'
HEAD = (
    '{"kind": "grade", "harness_version": "1", "torch_version": "2", "bank_digest": "a",'
    ' "judge": "none"}'
)
FIRST = BANK.scenarios[0]


def _proposed(path):
    for found in read(path):
        if isinstance(found, Transcript):
            for scenario in (OWN_SCENARIO, FIRST):
                extract(found, scenario)


def _in_a_tar(path):
    with tarfile.open(path.with_suffix(".tar.gz"), "w:gz") as archive:
        archive.add(path, "a.md")
    _proposed(path.with_suffix(".tar.gz"))


def _in_a_log(path):
    with zipfile.ZipFile(path.with_suffix(".eval"), "w") as archive:
        archive.writestr("header.json", read_bytes(path))
        archive.write(path, "samples/1_epoch_1.json")
    _proposed(path.with_suffix(".eval"))


def _with_modules(path):
    with suppress(SyntaxError):
        with_modules(path)


def _text(path):
    return read_bytes(path).decode("utf-8", "replace")


def _stored(path):
    (path.parent / "run.json").write_text(HEAD)
    with RunFolder.load(path.parent) as run:
        list(run)


def _trace(path):
    (path.parent / "run.json").write_text(HEAD)
    (path.parent / "traces").mkdir()
    packed = path.parent / "traces" / f"{'0' * 32}.json.gz"
    packed.write_bytes(gzip.compress(read_bytes(path)))
    stored = StoredAnswer(key="a", agent="b", answer=AnswerGrade(file="c"), traces=("0" * 32,))
    with RunFolder.load(path.parent) as run:
        run.traces(stored)


QUESTION = [Turn(role="user", text="?")]
READERS = {
    "Markdown": ("a.md", FENCED, _proposed),
    "a diff": ("a.md", HUNK, _proposed),
    "a script": ("a.py", b"import a\nloss.backward()\n", _proposed),
    "a notebook": ("a.ipynb", CELLS, _proposed),
    "lines of answers": ("a.jsonl", b'{"answer": "done", "id": 1}\n', _proposed),
    "an archive": ("a.md", FENCED, _in_a_tar),
    "a log": ("a.json", SAMPLE, _in_a_log),
    "a program and its repository": ("a.py", b"import b\nfrom .c import d\n", _with_modules),
    "a program as it is sent": ("a.py", SENT, lambda path: unpacked(_text(path))),
    "settings that a program names": (
        "a.yaml", b"data: a.csv\n", lambda path: own_files('open("a.yaml")', path.parent)
    ),
    "a bank": ("bank/a/scenario.yaml", SCENARIO.encode(), lambda path: load_bank(path.parents[1])),
    "a prompt": ("a.md", PROMPT.encode(), lambda path: render(_text(path), "loop")),
    "programs of a bank": (
        "bank/a/alternatives/b.py", b"x = 1\n",
        lambda path: read_sources(path.parents[2], "a", "alternatives"),
    ),
    "a map": ("a.yaml", b"a.md: clip-after-step\n", lambda path: read_map(_text(path), "a.yaml")),
    "a table": ("a.csv", b"file,scenario\na.md,b\n", lambda path: read_map(_text(path), "a.csv")),
    "a skill": ("SKILL.md", SKILL, lambda path: load_skill(path.parent)),
    "prompts of a skill": ("triggers.yaml", TRIGGERS, lambda path: load_triggers(path.parent)),
    "evals of a skill": ("evals.json", EVALS, lambda path: read_evals(path, BANK)),
    "results of evals": ("a.json", TRIED, lambda path: arms_of_benchmark(read_bytes(path), "a")),
    "labels": ("a.yaml", LABELS, lambda path: read_labels(path, BANK)),
    "rows of coverage": ("a.yaml", b"rows: []\n", lambda path: load_coverage(path, None)),
    "a project's settings": ("a.toml", b"[tool.harness]\njobs = 1\n", settings_of),
    "names of arms": ("arms.json", b'["a", "b"]', lambda path: arms_below([path.parent])),
    "a run": ("run.json", HEAD.encode(), lambda path: RunFolder.load(path.parent).close()),
    "answers of a run": ("answers.jsonl", STORED, _stored),
    "a trace of a run": ("trace.json", b'{"probes": []}', _trace),
    "answers to replay": (
        f"{FIRST.id}.1.json", SAMPLE, lambda path: ReplayAgent(path.parent).ask(FIRST)
    ),
    "replies to replay": (
        f"{key_of('', QUESTION)}.json", b'{"text": "a"}',
        lambda path: ReplayedJudge(path.parent).complete("", QUESTION, max_tokens=1),
    ),
}  # fmt: skip

PIECES = st.one_of(
    st.binary(max_size=100),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(
        [b"---\n", b"```python\n", b"{", b"[", b"- ", b": ", b"&a ", b"*a ", b"<<: ", b"PK\x03\x04",
         b"<details>", b"\xff\xfe", b"%%bash\n", b"null", b"1e999", b'"\\ud800"', b'"\\u0000"',
         b"2024-13-45", b"9" * 5000, b"-", b"/", b"\n"]
    ),
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=60)
@given(st.data())
def test_any_bytes_are_read_or_refused_within_the_budget(tmp_path_factory, reader, data):
    """A sound file with a piece cut out and others put in, once or thousands of times."""
    name, sound, read_it = READERS[reader]
    start = data.draw(st.integers(0, len(sound)))
    end = data.draw(st.integers(start, len(sound)))
    times = data.draw(st.sampled_from([1, 1, 1, 50, 5000]))
    path = tmp_path_factory.mktemp("handed-in") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    put_in = b"".join(data.draw(st.lists(PIECES, max_size=12)))
    path.write_bytes((sound[:start] + put_in * times + sound[end:])[:LARGEST])
    began = time.thread_time()

    with suppress(UserError):
        read_it(path)

    assert time.thread_time() - began < SECONDS


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_in_the_place_of_a_file_keeps_no_reader(tmp_path, reader):
    name, _, read_it = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)

    def go():
        with suppress(UserError, OSError):
            read_it(path)

    reading = threading.Thread(target=go, daemon=True)
    reading.start()
    reading.join(20)

    assert not reading.is_alive()
