"""`harness init`: what it writes runs as it is."""

import pytest
from typer.testing import CliRunner

from harness.cli import app

LOOP = """\
for x, y in train_loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def call(*arguments: object, warm: object = None):
    return CliRunner().invoke(app, [*map(str, arguments)], obj=warm)


@pytest.fixture
def begun(tmp_path):
    """A bank and a scenario beside its first one."""
    assert call("init", "bank", "mine", "--in", tmp_path).exit_code == 0
    assert call("init", "scenario", "second-one", "--in", tmp_path / "mine").exit_code == 0
    return tmp_path / "mine"


@pytest.mark.full
def test_a_bank_and_a_scenario_behave_as_they_declare(begun, warm):
    result = call("run", "--bank", begun, warm=warm)

    assert result.exit_code == 0, result.output
    assert "2 of 2 scenarios behave as declared" in result.output


def test_a_skill_is_in_order_and_its_claims_hold(tmp_path, warm):
    written = call("init", "skill", "my-skill", "--in", tmp_path)
    result = call("check", tmp_path / "my-skill", warm=warm)

    assert (written.exit_code, result.exit_code) == (0, 0), result.output
    assert "2 claim holds" in result.output


def test_the_program_of_an_answer_is_what_a_scenario_posts(tmp_path):
    answer = tmp_path / "answer.md"
    answer.write_text(f"Like this:\n\n```python\n{LOOP}```\n")

    done = call("init", "scenario", "from-an-answer", "--in", tmp_path, "--from", answer)

    assert "say there what your loop fails\nnow: harness run" in done.output
    assert (tmp_path / "from-an-answer/buggy.py").read_text() == LOOP


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("scenario",), "expected a name, such as `harness init scenario my-scenario`"),
        (("skill", "My Skill"), "expected up to 64 small letters"),
        (("skill", "../above"), "expected up to 64 small letters"),
        (("skill", "one", "--from", "nowhere.md"), "a skill has no posted loop"),
        (("scenario", "one", "--from", "nowhere.md"), "no such file"),
    ],
)
def test_what_cannot_be_begun_is_one_sentence(tmp_path, arguments, sentence):
    result = call("init", *arguments, "--in", tmp_path)

    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    done = call("init", "skill", "one", "--in", tmp_path / "file")

    assert done.exit_code == 2
    assert "it cannot be written: Not a directory" in " ".join(done.stderr.split())


def test_what_is_begun_is_found_beside_what_is_no_scenario(begun):
    """A skill, pictures, another bank: what init suggests next works among them."""
    call("init", "skill", "a-skill", "--in", begun)
    call("init", "bank", "another", "--in", begun)
    (begun / "pictures").mkdir()
    listed = call("list", "--bank", begun)

    assert listed.exit_code == 0, listed.stderr
    assert ("first" in listed.output, "another" in listed.output) == (True, False)


def test_what_is_there_is_not_written_over(begun):
    mine = begun / "second-one/buggy.py"
    mine.write_text("# mine\n")

    result = call("init", "scenario", "second-one", "--in", begun)

    assert (result.exit_code, mine.read_text()) == (2, "# mine\n")
