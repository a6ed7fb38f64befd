"""``import harness``: what people call from their own code."""

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import harness
from harness.domain.errors import UsageError

RIGHT = """\
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
WRONG = RIGHT.replace("    optimizer.zero_grad()\n", "")
ANSWER = """\
They pile up from window to window. Clear them after each step:

```python
accumulation_steps = 4
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```
"""


@pytest.fixture(scope="module")
def grader(warm):
    with harness.Grader(jobs=2, open_instruments=warm) as opened:
        yield opened


def test_a_program_is_graded_as_text_and_as_a_file(grader, tmp_path):
    """A path, or a line that names a file, is read; any other text is the answer itself."""
    file = tmp_path / "train.py"
    file.write_text(WRONG)
    given = (WRONG, file, str(file))

    assert [grader.grade(one).code for one in given] == ["wrong"] * 3
    assert grader.grade(RIGHT).code == "right"


def test_a_grade_says_why_and_shows_the_program(grader):
    """Reasons for readers, verdicts for programs, and what was judged."""
    grade = grader.grade(WRONG)

    assert grade.reasons[0].startswith("gradients-start-fresh: ")
    assert "fail" in {verdict.outcome for verdict in grade.verdicts}
    assert grade.program == WRONG


def test_an_answer_in_markdown_may_be_held_against_a_scenario(grader):
    """The scenario's requirements count, and its rubric."""
    grade = grader.grade(ANSWER, scenario="zero-grad-missing")

    assert (grade.code, grade.scenario) == ("right", "zero-grad-missing")
    assert grade.criteria


def test_threads_that_come_first_together_read_the_bank_once(monkeypatch):
    both = threading.Barrier(2)

    def read(folder):
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)
        return folder, object()

    monkeypatch.setattr("harness.interface.load_bank", read)
    grader = harness.Grader()
    with ThreadPoolExecutor(2) as threads:
        banks = [*threads.map(lambda _: grader.bank, range(2))]
    assert banks[0] is banks[1]


def test_a_grader_is_used_from_several_threads(grader):
    """Each gets the grade of its own program."""
    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(lambda text: grader.grade(text).code, [RIGHT, WRONG] * 2))

    assert codes == ["right", "wrong"] * 2


def test_a_grader_is_used_where_an_event_loop_runs_as_in_a_notebook(grader):
    """A cell of a notebook is run inside a loop that is not the harness's own."""

    async def cell():
        return grader.grade(WRONG).code

    assert asyncio.run(cell()) == "wrong"


def test_a_second_call_loads_imports_and_starts_nothing(grader, monkeypatch):
    """Which is why it is quick; ``benchmarks/grader.py`` says how quick."""
    for text in (WRONG, RIGHT):
        grader.grade(text)
    modules, processes = {*sys.modules}, children()
    monkeypatch.setattr("harness.interface.load_bank", None)

    grade = grader.grade(RIGHT.replace("train_loader", "loader"))

    assert grade.code == "right"
    assert {*sys.modules} == modules
    assert children() <= processes


def test_a_second_call_computes_less_than_its_programs_take(grader):
    """Processor time of this process, which no busy machine adds to, beside the programs' own."""
    grader.grade(RIGHT)
    processor = time.process_time()
    grade = grader.grade(RIGHT)

    assert time.process_time() - processor < sum(one.grade.seconds for one in grade.alternatives)


def children() -> set[str]:
    """Processes that this one has started and that are still there."""
    found: set[str] = set()
    for one in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found.update(one.read_text().split())
    return found


def test_a_file_that_cannot_be_read_is_one_sentence(grader):
    """As on the command line."""
    with pytest.raises(UsageError, match=r"nowhere\.md"):
        grader.grade(Path("nowhere.md"))


def test_an_unknown_scenario_is_one_sentence(grader):
    """With the nearest name."""
    with pytest.raises(UsageError, match="zero-grad-missing"):
        grader.grade(RIGHT, scenario="zero-grad-mising")


def test_a_file_with_two_answers_is_refused_by_grade(grader, tmp_path):
    """Whoever expects one grade does not silently get the first of several."""
    folder = tmp_path / "two"
    folder.mkdir()
    for name, text in (("a.py", RIGHT), ("b.py", WRONG)):
        (folder / name).write_text(text)

    with pytest.raises(UsageError, match="holds 2 answers"):
        grader.grade(folder)
    assert [one.code for one in grader.grade_all([folder])] == ["right", "wrong"]


def test_importing_the_package_imports_none_of_it():
    """``harness.Grader`` is found when it is asked for, so ``--help`` stays quick."""
    code = "import harness, sys; print([m for m in sys.modules if m.startswith('harness.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_what_the_package_exports_can_be_imported():
    """Every name in ``__all__``, and no other."""
    assert all(getattr(harness, name) is not None for name in harness.__all__)
    with pytest.raises(AttributeError, match="no attribute 'grader'"):
        _ = harness.grader
