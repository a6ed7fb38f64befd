"""`harness grade`: from files to what is said about them, and which exit code says what."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens
from tests.transcripts.material import FORMAT_OF

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = ROOT / "tests/material/corpora/dev"
KEYS = [
    "file", "scenario", "code", "failed", "advisory", "why", "notes", "settings", "lent", "criteria",
    "error", "skill_triggered",
]  # fmt: skip
RIGHT, WRONG = "```python\nloss = 1.0\n```\n", "```python\nloss = float('nan')\n```\n"
NEITHER = "I would first look at the data.\n"


@pytest.fixture
def bank(tmp_path: Path) -> FakeBank:
    return FakeBank(tmp_path).add("alpha").add("beta")


def grade(bank, *arguments, stdin=None, before=None):
    executor = FakeExecutor(before) if before else FakeExecutor()
    command = ["grade", "--bank", str(bank.folder), *map(str, arguments)]
    return CliRunner().invoke(app, command, obj=opens(executor), input=stdin)


def written(folder: Path, **texts: str) -> list[Path]:
    files = [folder / f"{name}.md" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text)
    return files


def objects(result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "code", "exit_code", "headline"),
    [
        (RIGHT, "right", 0, "code right"),
        (WRONG, "wrong", 1, "code wrong"),
        (NEITHER, "none", 0, "no code"),
    ],
)
def test_an_answer_has_a_headline_an_object_and_an_exit_code(
    bank, tmp_path, text, code, exit_code, headline
):
    (file,) = written(tmp_path, a=text)

    people = grade(bank, file, "--scenario", "alpha")
    data = grade(bank, file, "--scenario", "alpha", "--json")

    assert (people.exit_code, data.exit_code) == (exit_code, exit_code)
    assert people.stdout.startswith(f"{file}: {headline}  alpha")
    (line,) = objects(data)
    assert list(line) == KEYS
    assert (line["code"], line["scenario"], line["error"]) == (code, "alpha", None)
    assert line["failed"] == (["finite-loss"] if code == "wrong" else [])
    assert bool(line["why"]) == (code != "right")


def test_criteria_that_execution_cannot_decide_stay_unassessed(bank, tmp_path):
    """The toy scenario has one for a reader of the text, and one for both."""
    (file,) = written(tmp_path, a=RIGHT)

    (line,) = objects(grade(bank, file, "--scenario", "alpha", "--json"))

    states = {name: (one["state"], one["polarity"]) for name, one in line["criteria"].items()}
    assert states == {
        "names-the-loss": ("unassessed", "must"),
        "clips-harder": ("unassessed", "must_not"),
    }


def test_an_unreadable_file_gets_one_line_and_the_rest_goes_on(bank, tmp_path):
    """Exit code 2, also when an answer is wrong."""
    first, last = written(tmp_path, a=WRONG, b=RIGHT)

    result = grade(bank, first, tmp_path / "missing.md", last, "--scenario", "beta")

    assert result.exit_code == 2
    assert "missing.md: not graded: no such file or directory; expected" in result.stdout
    assert result.stdout.rstrip().endswith("1 code right, 1 code wrong, 1 not graded")


def test_a_wrong_alternative_makes_an_answer_wrong(bank, tmp_path):
    """It says which, and that the other one is right."""
    loop = "for _ in loader:\n    l.backward()\n    o.step()\n"
    text = f"## Option A\n\n```python\n{loop}```\n\n## Option B\n\n```python\n{loop}nan\n```\n"
    (file,) = written(tmp_path, a=text)

    people = grade(bank, file, "--scenario", "alpha")
    (line,) = objects(grade(bank, file, "--scenario", "alpha", "--json"))

    assert people.exit_code == 1
    assert "answer, Python block 1: code right" in people.stdout
    assert "answer, Python block 2: code wrong" in people.stdout
    assert line["why"][0].startswith("answer, Python block 2: finite-loss: ")


def test_a_map_and_the_front_matter_name_scenarios(bank, tmp_path):
    """The map has the last word."""
    files = written(tmp_path, a=RIGHT, b=f"---\nscenario: beta\n---\n{RIGHT}")
    (tmp_path / "map.csv").write_text("file,scenario\na.md,alpha\n")

    lines = objects(grade(bank, *files, "--map", tmp_path / "map.csv", "--json"))

    assert [line["scenario"] for line in lines] == ["alpha", "beta"]


def test_standard_input_is_a_dash(bank):
    result = grade(bank, "-", "--scenario", "alpha", "--json", stdin=WRONG)

    assert [(line["file"], line["code"]) for line in objects(result)] == [("<stdin>", "wrong")]


def test_show_program_prints_what_was_run(bank, tmp_path):
    (file,) = written(tmp_path, a=f"```python\nmodel = ...\n```\n{RIGHT}")

    result = grade(bank, file, "--scenario", "alpha", "--show-program")

    assert "      loss = 1.0\n" in result.stdout


def test_a_fault_of_ours_is_exit_code_3_and_no_verdict(bank, tmp_path):
    """The answer gets an error, not a grade."""

    def crash(*_):
        raise ZeroDivisionError("deep inside")

    (file,) = written(tmp_path, a=RIGHT)
    result = grade(bank, file, "--scenario", "alpha", "--json", before=crash)

    (line,) = objects(result)
    assert result.exit_code == 3
    assert line["code"] == "none"
    assert line["error"] == "a fault of the harness: ZeroDivisionError: deep inside"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scenario", "gamma"], "there is no scenario gamma"),
        (["--map", "missing.yaml"], "missing.yaml: cannot be read as a map: No such file"),
        (["--scenario", "alpha", "--map", "m.yaml"], "give one"),
        (["--scenario", "alpha", "--format", "word"], "there is no format word"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_exit_code_2(bank, tmp_path, options, sentence):
    (file,) = written(tmp_path, a=RIGHT)

    result = grade(bank, file, *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_a_map_for_other_files_is_refused_before_anything_is_graded(bank, tmp_path):
    """It would leave the scenario of each answer to a guess."""
    (file,) = written(tmp_path, a=RIGHT)
    (tmp_path / "m.csv").write_text("title,author\nx,y\n")

    result = grade(bank, file, "--map", tmp_path / "m.csv")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "m.csv: names none of the files that were given; expected FILE and ID" in result.stderr


@pytest.mark.parametrize("name", sorted(FORMAT_OF))
def test_every_format_goes_from_its_file_to_a_grade(bank, name):
    """Its program is executed where it holds one; where it holds none, the reason is told."""
    executed = []
    file = ROOT / "tests/material/transcripts" / name

    def before(candidate, *_):
        executed.append(candidate.program)

    result = grade(bank, file, "--scenario", "alpha", "--json", before=before)

    lines = objects(result)
    codes = {line["code"] for line in lines}
    assert codes <= {"right", "none"}
    assert [line["error"] for line in lines if line["error"]] == []
    assert all(line["why"] for line in lines if line["code"] == "none")
    assert ("right" in codes) == bool(executed)
    assert executed or name in ("anthropic-request.json", "python-broken.py")


def test_a_stored_run_is_shown_and_judged_anew_without_executing(bank, tmp_path):
    """Nothing is run: what it would be run with is broken."""
    files = written(tmp_path, a=RIGHT, b=WRONG)
    run = tmp_path / "run"
    stored = grade(bank, *files, "--scenario", "alpha", "--json", "--out", run)

    shown = CliRunner().invoke(app, ["show", str(run), "--json"])
    command = ["regrade", str(run), "--bank", str(bank.folder), "--json"]
    again = CliRunner().invoke(app, command, obj=pytest.fail)

    assert (stored.exit_code, again.exit_code, shown.exit_code) == (1, 1, 0)
    assert objects(again) == objects(stored) == objects(shown)


def test_of_a_run_without_answers_both_say_so(bank, tmp_path):
    """A run that was killed before its first answer; silence would look like a run that is fine."""
    (file,) = written(tmp_path, a=RIGHT)
    run = tmp_path / "run"
    grade(bank, file, "--scenario", "alpha", "--out", run)
    (run / "answers.jsonl").write_text("")

    shown = CliRunner().invoke(app, ["show", str(run)])
    again = CliRunner().invoke(app, ["regrade", str(run), "--bank", str(bank.folder)])

    assert (again.exit_code, again.stdout.strip()) == (0, "no answers")
    assert shown.stdout.endswith("\nno answers\n")


def test_judging_anew_needs_no_torch(bank, tmp_path):
    """Nor anything else that executes: importing it is made to fail."""
    (file,) = written(tmp_path, a=RIGHT)
    run = tmp_path / "run"
    grade(bank, file, "--scenario", "alpha", "--out", run)
    blocked = "torch", "lightning", "harness.sandbox", "harness.oracle", "harness.workloads"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}));"
        "from harness.cli import run_command_line as go;"
        f"sys.exit(go(['regrade', {str(run)!r}, '--bank', {str(bank.folder)!r}]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "code right  alpha" in done.stdout


def test_what_is_stored_is_not_executed_again(bank, tmp_path):
    """The second time only the new file is run, and all answers are told, in order."""
    seen = []
    files = written(tmp_path, a=RIGHT, b=WRONG)
    options = ["--scenario", "alpha", "--json", "--out", tmp_path / "run"]
    grade(bank, *files, *options)
    (new,) = written(tmp_path, c=RIGHT)

    result = grade(bank, *files, new, *options, before=lambda c, *_: seen.append(c.origin))

    assert [line["code"] for line in objects(result)] == ["right", "wrong", "right"]
    assert len(seen) == 2  # two probes of one answer
    assert result.stderr == f"harness: 2 answers are in {tmp_path / 'run'} already\n"


def test_of_a_log_that_is_cut_off_it_is_said(bank, tmp_path):
    """Also when it is judged anew."""
    log = ROOT / "tests/material/transcripts/claude-code.jsonl"
    (line,) = objects(grade(bank, log, "--scenario", "alpha", "--json", "--out", tmp_path / "run"))
    command = ["regrade", str(tmp_path / "run"), "--bank", str(bank.folder), "--json"]
    (again,) = objects(CliRunner().invoke(app, command))

    assert line["notes"] == again["notes"] == ["The last line is cut off."]


def test_a_file_that_changed_is_another_answer(bank, tmp_path):
    """What is stored under its name says nothing about what it says now."""
    options = ["--scenario", "alpha", "--json", "--out", tmp_path / "run"]
    (file,) = written(tmp_path, a=RIGHT)
    grade(bank, file, *options)
    file.write_text(WRONG)

    (line,) = objects(grade(bank, file, *options))

    assert line["code"] == "wrong"


def test_a_run_of_another_bank_is_refused(bank, tmp_path):
    """Its answers would not belong together."""
    (file,) = written(tmp_path, a=RIGHT)
    options = ["--scenario", "alpha", "--out", tmp_path / "run"]
    grade(bank, file, *options)
    bank.edit("beta/scenario.yaml", "title: A loss", "title: Another loss")

    result = grade(bank, file, *options)

    assert result.exit_code == 2
    assert "this run was made with bank_digest = " in result.stderr


def test_strict_is_exit_code_4_where_there_is_nothing_to_judge(bank, tmp_path):
    """A pipeline that needs an answer must not take silence for one."""
    (file,) = written(tmp_path, a=NEITHER)

    assert grade(bank, file, "--scenario", "alpha").exit_code == 0
    assert grade(bank, file, "--scenario", "alpha", "--strict").exit_code == 4


def test_real_answers_from_file_to_grade_through_the_jail(warm, tmp_path):
    """One is right, one is wrong, one offers two alternatives that are both right."""
    files = [str(ANSWERS / name) for name in ("d08.md", "d12.md", "d17.md")]
    scenarios = {
        "d08": "all-three-techniques",
        "d12": "paper-without-clipping",
        "d17": "padding-and-accumulation",
    }
    mapped = tmp_path / "map.yaml"
    mapped.write_text(json.dumps(scenarios))
    command = ["grade", *files, "--map", str(mapped), "--json"]

    done = CliRunner().invoke(app, command, obj=warm)

    lines = objects(done)
    assert (done.exit_code, done.stderr) == (1, "")
    assert [line["code"] for line in lines] == ["right", "wrong", "right"]
    assert lines[1]["failed"] == ["clip-before-step"]
    assert lines[2]["criteria"]["correct-loop"]["state"] == "met"
