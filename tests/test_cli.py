"""The command line: what goes to which stream, and which exit code says what."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.app import FILES
from harness.domain.errors import CannotExecuteHere
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def fake(tmp_path: Path) -> FakeBank:
    return FakeBank(tmp_path).add("alpha").add("beta")


def harness(*arguments, executor=None, notes=()):
    """The command line in this process, with fakes in place of the jail and the oracle."""
    executor = executor or FakeExecutor()
    return CliRunner().invoke(app, [str(a) for a in arguments], obj=opens(executor, *notes))


def process(*arguments) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_a_bank_that_behaves_as_declared_is_exit_code_0(fake):
    """A row for each scenario and the closing line; nothing on standard error."""
    result = harness("run", "--bank", fake.folder)

    lines = result.stdout.rstrip().split("\n")
    assert result.exit_code == 0
    assert [line.split()[0] for line in lines[1:3]] == ["alpha", "beta"]
    assert lines[-1].startswith("2 of 2 scenarios behave as declared in ")
    assert result.stderr == ""


def test_a_surprise_is_exit_code_1(fake):
    """The sentence stands under the table."""
    fake.file("reference_impls/beta.py").write_text("loss = float('nan')\n")

    result = harness("run", "--bank", fake.folder)

    assert result.exit_code == 1
    assert "\nbeta: the reference is wrong: finite-loss: " in result.stdout
    assert "1 of 2 scenarios behave" in result.stdout


def test_a_broken_bank_is_exit_code_2_and_nothing_runs(fake):
    """Even when the scenario that was asked for is sound."""
    fake.edit("beta/scenario.yaml", "suite: toy", "suit: toy")
    executor = FakeExecutor(lambda *_: pytest.fail("something was run"))

    result = harness("run", "--bank", fake.folder, "--scenario", "alpha", executor=executor)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "beta/scenario.yaml:3: suit is not a key; did you mean suite?\n" in result.stderr
    assert result.stderr.endswith("harness: 1 problem in the bank; nothing was run\n")


def test_a_fault_of_ours_is_exit_code_3_and_the_rest_is_done(fake):
    """Its traceback and a sentence go to standard error, the other scenario to the table."""
    fake.file("reference_impls/beta.py").write_text("loss = 1.0  # crash\n")

    def crash(candidate, _workload, _probe):
        if "crash" in candidate.program:
            raise ZeroDivisionError("deep inside")

    result = harness("run", "--bank", fake.folder, executor=FakeExecutor(crash))

    assert result.exit_code == 3
    assert "1 of 2 scenarios behave as declared" in result.stdout
    assert result.stderr.count("Traceback") == 1
    assert "beta, reference: ZeroDivisionError: deep inside" in result.stderr
    assert "this is a fault of the harness" in result.stderr


@pytest.mark.parametrize(("options", "tracebacks"), [([], 1), (["--verbose"], 2)])
def test_of_many_faults_the_first_traceback_is_enough(fake, options, tracebacks):
    """Every fault has its sentence; all tracebacks come with --verbose."""

    def crash(_candidate, workload, probe):
        if probe.name == "loud" and workload.seed:
            raise ZeroDivisionError(f"seed {workload.seed}")

    for seed, name in enumerate(("alpha", "beta"), start=1):
        fake.edit(f"{name}/scenario.yaml", "  name: mlp", f"  name: mlp\n  seed: {seed}")
    result = harness("run", "--bank", fake.folder, *options, executor=FakeExecutor(crash))

    assert result.stderr.count("Traceback (most recent call last)") == tracebacks
    assert result.stderr.count("beta, reference: ZeroDivisionError: seed 2") == 1


def test_an_exception_that_nobody_expected_is_exit_code_3(fake):
    """Before anything could run, too: the traceback and whose fault it is."""

    def broken(_jobs):
        raise ZeroDivisionError("no instruments")

    result = CliRunner().invoke(app, ["run", "--bank", str(fake.folder)], obj=broken)

    assert result.exit_code == 3
    assert "ZeroDivisionError: no instruments" in result.stderr
    assert "this is a fault of the harness" in result.stderr


def test_a_machine_that_cannot_execute_is_exit_code_2(fake):
    """One sentence that the user can act on, and no traceback."""

    def refuse(*_):
        raise CannotExecuteHere("candidates run on Linux only")

    result = harness("run", "--bank", fake.folder, executor=FakeExecutor(refuse))

    assert result.exit_code == 2
    assert result.stderr == "harness: candidates run on Linux only\n"


def test_ctrl_c_is_exit_code_130(fake):
    """What was finished is printed, and how much that is."""

    def interrupt(_jobs):
        raise KeyboardInterrupt

    result = CliRunner().invoke(app, ["run", "--bank", str(fake.folder)], obj=interrupt)

    assert result.exit_code == 130
    assert (result.stdout, result.stderr) == (
        "",
        "harness: interrupted; 0 of 2 scenarios were finished\n",
    )


def test_json_is_all_that_standard_output_holds(fake):
    """Notes and numbers are in the record, not around it."""
    result = harness("run", "--bank", fake.folder, "--json", "--seed", "5", notes=("no seccomp",))

    run = json.loads(result.stdout)
    assert [r["scenario"] for r in run["results"]] == ["alpha", "beta"]
    assert (run["seed"], run["machine_notes"]) == (5, ["no seccomp"])


def test_verbose_puts_every_verdict_before_the_table(fake):
    """The table and the closing line stay at the end, where the eye is."""
    result = harness("run", "--bank", fake.folder, "--verbose", "--scenario", "beta")

    assert "fail          finite-loss: On small gradients, after 0 updates" in result.stdout
    assert result.stdout.index("finite-loss: On") < result.stdout.index("1 of 1 scenario behaves")


@pytest.mark.parametrize(
    "named",
    [["alpha,gamma"], ["alpha, gamma"], ["alpha", "gamma"], ["gamma,alpha", "alpha"]],
)
def test_scenarios_are_named_with_commas_or_one_after_the_other(fake, named):
    """``--scenario`` given twice names both; the last alone would leave the first out silently."""
    fake.add("gamma")

    options = [part for ids in named for part in ("--scenario", ids)]
    result = harness("run", "--bank", fake.folder, *options, "--json")

    assert [one["scenario"] for one in json.loads(result.stdout)["results"]] == ["alpha", "gamma"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--scenario", "alpha", "--scenario", "all"], "all stands alone"),
        (["run", "--scenario", "alhpa"], "there is no scenario alhpa; did you mean alpha?"),
        (["run", "--suite", "tyo"], "there is no suite tyo; did you mean toy?"),
        (["show", "gamma"], "there is no scenario gamma"),
    ],
)
def test_a_name_that_does_not_exist_is_a_usage_error(fake, arguments, said):
    """Exit code 2, one sentence, the nearest name."""
    result = harness(*arguments, "--bank", fake.folder)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"harness: {said}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "No such command 'rnu'. Did you mean 'run'?"),
        (["run", "--verbos"], "No such option: --verbos; did you mean --verbose?"),
        (["run", "--jobs", "0"], "Invalid value for '--jobs': expected 1 or more\n"),
        (["run", "--seed", "x"], "Invalid value for '--seed': expected a whole number\n"),
        (["run", "--seed", str(2**64)], "Invalid value for '--seed'"),
        (
            ["compare", "--plan", "--trials", "100000"],
            "Invalid value for '--trials': expected at most 1000\n",
        ),
        (
            ["run", "--agent", "buggy", "--max-cost", "x"],
            "Invalid value for '--max-cost': expected a",
        ),
        (["quality", "--matrix", "nowhere/m.md"], "nowhere/m.md: cannot be written"),
        (["quality", "--matrix", "tests"], "tests: cannot be written"),
        (["show", "tests"], "tests: expected the id of a scenario, or the folder of a stored run"),
        (["show"], "Missing argument 'ID|RUN'; see `harness show --help`\n"),
        (
            ["init"],
            (
                "Missing argument 'skill|scenario|bank'. Choose from: skill, scenario, bank; see "
                "`harness init --help`\n"
            ),
        ),
        (["help"], "No such command 'help'; see `harness --help`\n"),
        (["run", "--judge", "command:x"], "--skill, --trials, --max-cost, --judge, --strict, "),
        (["run", "--zzzz"], "No such option: --zzzz; see `harness run --help`\n"),
        (["report", "run", "--format", "xml"], "Invalid value for '--format': 'xml' is not one"),
        (["run", "extra"], "extra: nothing more was expected; see `harness run --help`\n"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_one_sentence(arguments, said):
    """Exit code 2, on standard error, with a suggestion where one is near."""
    result = harness(*arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"harness: {said}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["show", "check", "report", "view", "regrade", "calibrate", "list --bank"]
)
@pytest.mark.parametrize("name", ["loop", pytest.param("a" * 300, marks=pytest.mark.full)])
def test_a_path_that_no_system_opens_is_one_sentence(tmp_path, command, name):
    """A name that is too long, a link that leads back to itself: exit code 2, and the path is named."""
    (tmp_path / "loop").symlink_to("loop")

    result = harness(*command.split(), tmp_path / name)

    assert result.exit_code == 2
    assert str(tmp_path / name) in result.stderr.splitlines()[0]
    assert "Traceback" not in result.stderr


def test_no_command_shows_the_help_and_is_exit_code_2():
    """Nothing was asked, so nothing was answered: standard output stays empty."""
    result = harness()

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "run" in result.stderr


def test_list_and_show_start_no_instruments(fake):
    """They answer where torch cannot even be imported."""

    def broken(_jobs):
        raise ZeroDivisionError

    listed = CliRunner().invoke(app, ["list", "--bank", str(fake.folder)], obj=broken)
    shown = CliRunner().invoke(app, ["show", "beta", "--bank", str(fake.folder)], obj=broken)

    assert (listed.exit_code, shown.exit_code) == (0, 0)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["scenario", "alpha", "beta"]
    assert "Is this right?" in shown.stdout


def test_list_takes_ids_and_prints_json(fake):
    """What a line says, with what its programs import; an unknown id is told."""
    result = harness("list", "--scenario", "beta", "--json", "--bank", fake.folder)
    unknown = harness("list", "--scenario", "bete", "--bank", fake.folder)

    (listed,) = json.loads(result.stdout)
    assert (listed["id"], listed["suite"], listed["requires"]) == ("beta", "toy", [])
    assert unknown.exit_code == 2
    assert "there is no scenario bete; did you mean beta?" in unknown.stderr


def test_show_as_json_is_the_scenario(fake):
    """The rendered message and both programs included."""
    result = harness("show", "beta", "--json", "--bank", fake.folder)

    shown = json.loads(result.stdout)
    assert (shown["id"], shown["reference"]) == ("beta", "loss = 1.0\n")


def test_list_reports_a_broken_declaration_like_every_other_command(fake):
    """It reads the declarations alone; what is wrong with one is said with file and line."""
    file = fake.file("beta/scenario.yaml")
    file.write_text(file.read_text() + "stray: 1\ntitle: again\n")

    result = harness("list", "--bank", fake.folder)

    assert result.exit_code == 2
    assert "beta/scenario.yaml:" in result.stderr


def test_every_command_is_found_in_the_file_that_it_lives_in():
    """Only that file is imported when it is called."""
    CliRunner().invoke(app, ["--help"])
    lives = {
        command.name or command.callback.__name__: command.callback.__module__.rpartition(".")[2]
        for command in app.registered_commands
    }

    assert lives == FILES


@pytest.mark.parametrize("command", ["", *FILES])
def test_a_page_of_help_shows_no_type_of_python_and_an_example(command):
    """`--help <bool>` would ask for a value, `FILE <list[str]>` for nobody knows what."""
    page = harness(*command.split(), "--help")

    assert page.exit_code == 0
    assert not re.search(r"<(bool|int|float|str|path|list)\b|list\[|\bNone\b|<=|>=", page.stdout)
    assert not command or f"Example: harness {command}" in page.stdout


def test_list_needs_neither_torch_nor_the_parts_that_run(fake):
    """What it does not import it does not wait for."""
    code = (
        "import sys; from harness.cli import run_command_line as go;"
        f"code = go(['list', '--bank', {str(fake.folder)!r}]);"
        "heavy = {'torch', 'numpy', 'harness.runner', 'harness.domain.event', 'markdown_it', 'rich.progress'};"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_process_gives_the_exit_code(fake):
    """``python -m harness`` passes on what the command line decides."""
    assert process("list", "--bank", fake.folder).returncode == 0
    assert process("list", "--bank", fake.root / "nowhere").returncode == 2
    assert process("--version").stdout.startswith("harness ")


def test_a_skill_that_cannot_be_read_is_said_before_any_is_checked(tmp_path: Path) -> None:
    (tmp_path / "labels.yaml").write_text("a: 1\n")
    result = CliRunner().invoke(
        app, ["check", "tests/material/faulty-skill", str(tmp_path / "labels.yaml")]
    )

    assert result.exit_code == 2
    assert "no Markdown file" in result.stderr
    assert result.stdout == ""
