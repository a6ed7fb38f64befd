"""What a command line names becomes a stream of answers, of which the first is there at once."""

import itertools
import json

import pytest

from harness.agents.given import GivenAnswers, RefusedFile, given_answers
from harness.agents.inputs import TOGETHER, Shard, shard_of, units
from harness.domain.errors import UsageError
from harness.extraction.assignment import Choice
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank

ANSWER = "```python\nloss = 1.0\n```\n"
TRAINS = "import torch\n\ndef train(model, optimizer, loss):\n    loss.backward()\n    optimizer.step()\n"


@pytest.fixture
def bank(tmp_path):
    return load_bank(FakeBank(tmp_path / "bank").add("alpha").folder)


def given(bank, *files, shard=None):
    names = [str(file) for file in files]
    return given_answers(names, None, bank, Choice(scenario="alpha"), shard=shard_of(shard))


def test_a_folder_without_python_files_is_one_of_answers(bank, tmp_path):
    """Folder by folder, in the order of their names; what is no answer by its name is left out."""
    folder = tmp_path / "answers"
    for name in ("b.md", "a.md", "c/d.md", "notes.txt", ".git/x.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(ANSWER)

    names = [one.name.removeprefix(f"{folder}/") for one in given(bank, folder)]

    assert names == ["a.md", "b.md", "c/d.md"]


def test_pages_beside_programs_are_no_answers(bank, tmp_path):
    """A repository has a README."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "README.md").write_text(ANSWER)
    (tmp_path / "code" / "train.py").write_text(TRAINS)

    assert [one.name for one in given(bank, tmp_path / "code")] == [f"{tmp_path}/code/train.py"]


def test_a_pattern_names_what_it_matches_and_one_that_matches_nothing_is_told(bank, tmp_path):
    """A shell gives up at some thousand files."""
    for name in ("x1.md", "x2.md", "y.md"):
        (tmp_path / name).write_text(ANSWER)

    found = list(given(bank, tmp_path / "x*.md", tmp_path / "z*.md"))

    assert [one.name for one in found[:2]] == [f"{tmp_path}/x1.md", f"{tmp_path}/x2.md"]
    assert isinstance(found[2], RefusedFile)
    assert "no file matches it" in found[2].sentence


@pytest.mark.parametrize("suffix", ["md", "py"])
def test_the_first_answer_is_there_before_the_second_is_looked_at(bank, tmp_path, suffix):
    """However many there are: the second cannot even be read."""
    folder = tmp_path / "many"
    folder.mkdir()
    text = ANSWER if suffix == "md" else TRAINS
    for number in range(TOGETHER + 2):
        (folder / f"{number:04}.{suffix}").write_text(text)
    answers = given(bank, folder)
    first = next(answers)
    (folder / f"0001.{suffix}").write_bytes(b"\0" * 9)

    assert isinstance(first, GivenAnswers)
    assert len(list(answers)) == TOGETHER if suffix == "py" else TOGETHER + 1


def test_the_first_line_of_many_is_an_answer_before_the_file_ends(bank, tmp_path):
    """A million lines are not held."""
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{json.dumps({'answer': ANSWER})}\n" * 1000)
    some = list(itertools.islice(given(bank, path), 3))

    assert [one.name for one in some] == [f"{path}, line {number}" for number in (1, 2, 3)]


def test_the_shards_of_the_same_inputs_hold_each_answer_once(bank, tmp_path):
    """Files, lines and folders alike, on whichever machine each is taken."""
    for number in range(20):
        (tmp_path / f"{number}.md").write_text(ANSWER)
    (tmp_path / "many.jsonl").write_text(f"{json.dumps({'answer': ANSWER})}\n" * 20)
    inputs = (tmp_path / "*.md", tmp_path / "many.jsonl")
    whole = sorted(one.name for one in given(bank, *inputs))
    shards = [[one.name for one in given(bank, *inputs, shard=f"{n}/3")] for n in (1, 2, 3)]

    assert len(whole) == 40
    assert sorted(itertools.chain(*shards)) == whole
    assert all(5 <= len(shard) <= 25 for shard in shards)


def test_what_another_shard_grades_is_not_even_read(tmp_path):
    """A million files are spread over machines, and so is the reading."""
    mine, theirs = Shard(1, 2), Shard(2, 2)
    (unit,) = units([str(tmp_path / "a.md")], None, Choice())

    assert unit.is_left_out(mine) != unit.is_left_out(theirs)
    assert not unit.is_left_out(None)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_a_shard_that_is_none_is_refused_with_what_is_expected(text):
    """In one sentence."""
    with pytest.raises(UsageError, match="expected I/N, such as 2/8"):
        shard_of(text)


def test_many_bad_lines_among_more_good_ones_end_nothing(bank, tmp_path):
    """Of a file that is mostly unreadable the rest is left out, and that is said."""
    good, path = json.dumps({"answer": ANSWER}), tmp_path / "mixed.jsonl"
    path.write_text(f"{good}\n{good}\n{{}}\n" * 100)
    bad = tmp_path / "bad.jsonl"
    bad.write_text(f"{good}\n" * 30 + "{}\n" * 300)

    assert sum(isinstance(one, GivenAnswers) for one in given(bank, path)) == 200
    *_, last = given(bank, bad)
    assert "the rest is left out" in last.sentence
