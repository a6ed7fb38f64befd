"""Whatever is handed in, reading it ends soon, takes little, and says in one sentence what is wrong."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from rich.panel import Panel
from rich.text import Text

from harness.agents import given
from harness.agents.evals import read_evals
from harness.agents.given import MOST_REFUSED, given_answers
from harness.agents.inputs import InputUnit, units
from harness.beside import CompanionFile, PackedProgram, unpacked
from harness.checking.links import check_links
from harness.cli.arms import arms_below
from harness.domain.errors import UserError
from harness.domain.own import OWN_SCENARIO
from harness.domain.transcript import Unreadable
from harness.extraction import extract
from harness.extraction.assignment import Choice, read_map
from harness.report.console import Output
from harness.sandbox.own_files import own_files
from harness.scenarios import BankProblems, default_bank, load_bank
from harness.scenarios.problem import Problem
from harness.scenarios.programs import program_problem, render, uses_loop
from harness.scenarios.yaml_tree import Complaint, read_yaml
from harness.skills import read_skill
from harness.skills.frontmatter import read_frontmatter
from harness.syntax import TOO_LONG, is_too_long
from harness.transcripts import read
from harness.untrusted import TooLong, in_time, kind_of, read_bytes, safe_yaml
from tests.bank import BANK

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}], y{i}: 1}}\n" for i in range(1, 11)
)
DEEP = "".join(f"{' ' * i}a:\n" for i in range(2000))
ENDLESS = {"aliases of aliases": LAUGHS, "merges of merges": MERGES, "levels": DEEP}


@pytest.mark.parametrize("case", ENDLESS)
def test_yaml_that_stands_for_too_much_is_refused_by_every_reader(case):
    """It took a gigabyte, hung, or ended in a traceback."""
    text = ENDLESS[case]

    with pytest.raises(yaml.YAMLError, match="more than"):
        safe_yaml(text)
    assert "more than" in read_yaml(text).complaints[0].sentence
    assert "more than" in (read_frontmatter(f"---\n{text}---\n").problem or "")
    with pytest.raises(UserError, match="more than"):
        read_map(text, "map.yaml")


def test_ordinary_aliases_are_read():
    assert safe_yaml("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}") == {
        "a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2},
    }  # fmt: skip


GROWING = {
    "loops": "{% for i in range(99999) %}a{% endfor %}{{ buggy }}",
    "products": "{{ 'a' * 99 }}{{ buggy }}",
    "powers": "{{ 9 ** 9 }}{{ buggy }}",
    "formats": "{{ '%2000000000d' % 1 }}{{ buggy }}",
    "padding": "{{ buggy | center(3000000000) }}",
    "wide margins": "{{ buggy | indent(1000000) }}",
    "words by chance": "{{ lipsum(n=1000000) }}{{ buggy }}",
    "macros": "{% macro a() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}{{ buggy }}",
    "doubling": "{% set a = buggy ~ buggy %}{{ a }}",
    "repetition": "{{ buggy }}" * 1000,
    "depth": "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}",
}


@pytest.mark.parametrize("case", GROWING)
def test_a_template_that_could_grow_is_refused_before_it_is_rendered(case):
    assert isinstance(render(GROWING[case], "loop"), Complaint)
    assert uses_loop(GROWING[case]) is None  # to look for names, jinja2 computes what is constant


def test_a_template_may_insert_the_loop_trimmed_and_indented():
    assert render("So:\n{{ buggy | trim | indent(4) }}!", " a\nb") == "So:\na\n    b!"


def test_a_program_too_deep_for_python_is_a_complaint():
    assert isinstance(program_problem("x = " + "-" * 90_000 + "1"), Complaint)


KINDS = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a file of the kernel": lambda path: path.symlink_to("/proc/kmsg"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused_before_it_is_opened(kind, tmp_path):
    """A pipe that nobody writes to kept the reader for ever."""
    path = tmp_path / "answer.md"
    KINDS[kind](path)

    assert kind_of(path) == kind
    (found,) = read(path)
    assert kind in found.sentence
    with pytest.raises(OSError, match=kind):
        read_bytes(path)


def test_a_pipe_that_a_shell_made_is_read(tmp_path):
    """``grade <(command)``."""
    reading, writing = os.pipe()
    os.write(writing, b"An answer.")
    os.close(writing)

    (found,) = read(Path(f"/dev/fd/{reading}"))

    os.close(reading)
    assert found.messages[0].text == "An answer."


def test_a_file_of_a_bank_that_leads_out_of_it_is_refused(tmp_path):
    (tmp_path / "scenarios" / "a").mkdir(parents=True)
    (tmp_path / "scenarios" / "a" / "scenario.yaml").symlink_to("/etc/hostname")

    with pytest.raises(UserError, match="leaves the bank"):
        load_bank(tmp_path / "scenarios")


def test_reading_ends_when_its_time_is_over():
    def read_for_ever() -> None:
        with in_time("file.md", 0.2):
            while True:
                pass

    with pytest.raises(TooLong, match=r"file\.md"):
        read_for_ever()
    with ThreadPoolExecutor() as pool, pytest.raises(TooLong, match=r"file\.md"):
        pool.submit(read_for_ever).result(30)


def test_reading_leaves_the_signals_of_the_program_alone():
    """Who imports the harness may have an alarm of its own."""
    before = signal.getsignal(signal.SIGALRM)
    with in_time("file.md"):
        assert signal.getsignal(signal.SIGALRM) is before
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


PROFILED = """
import cProfile
from harness.untrusted import in_time
with in_time("file.md"):
    pass
with cProfile.Profile():
    print(sum(i for i in range(1000)))
"""


def test_a_program_that_has_read_something_can_be_profiled():
    """It ran for ever: Python looked without end for an exception that had been taken back."""
    done = subprocess.run(
        [sys.executable, "-c", PROFILED], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == "499500\n"


def test_a_file_too_large_for_what_it_is_says_so(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("x = 1\n" * 200_000)
    (found,) = given_answers([str(path)], None, load_bank(default_bank()), Choice())

    assert "too large" in found.sentence


LONG = {
    "lines": "x = 1\n" * 100_000,
    "statements in a line": "x=1;" * 100_000,
    "a line": "x = [" + "1," * 3_000_000 + "]\n",
    "hunks": "@@ -1,1 +1,1 @@\n-a\n+b\n" * 60_000,
}


@pytest.mark.parametrize("case", LONG)
def test_a_program_longer_than_any_is_not_looked_through(case, tmp_path):
    """Forty thousand lines kept the jail for a minute, a line of six million characters took 15 s."""
    path = tmp_path / "answer.md"
    path.write_text(f"```{'diff' if case == 'hunks' else 'python'}\n{LONG[case]}```\n")
    (found,) = given_answers([str(path)], None, load_bank(default_bank()), Choice())
    began = time.thread_time()

    none = extract(found.transcript, OWN_SCENARIO)

    assert is_too_long(LONG[case])
    assert none.reason.endswith(
        (f"block 1 of the answer does not parse ({TOO_LONG})", "no Python block")
    )
    assert time.thread_time() - began < 2


def test_deep_json_of_a_stranger_is_no_fault(tmp_path):
    (tmp_path / "arms.json").write_text('{"a":' * 5000)
    program = PackedProgram("x = 1", {"a": CompanionFile("a.py", "")}).text.replace(
        "{", "[" * 100_000, 1
    )

    assert arms_below([tmp_path]) == [tmp_path]
    assert unpacked(program) == PackedProgram(program)


def test_of_a_file_full_of_broken_parts_the_first_ones_are_told(tmp_path):
    import zipfile

    path = tmp_path / "many.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        for n in range(300):
            archive.writestr(f"samples/{n}_epoch_1.json", "{}")
    told = list(given_answers([str(path)], None, load_bank(default_bank()), Choice()))

    assert len(told) == MOST_REFUSED + 2
    assert "the rest is left out" in told[-1].sentence


def test_parts_that_cannot_be_read_have_the_time_of_one_together(monkeypatch):
    """A log of two megabytes, most of it blanks, took 36 s."""
    monkeypatch.setattr(given, "SECONDS", 0.2)

    def parts():
        for n in range(99):
            end = time.thread_time() + 0.11
            while time.thread_time() < end:
                pass
            yield Unreadable(file=f"{n}", expected="a sample", sentence="it is blank")

    monkeypatch.setattr(given, "units", lambda *_: [InputUnit("a.eval", parts)])
    told = list(given_answers(["a.eval"], None, BANK, Choice()))

    assert len(told) == 3
    assert "the rest is left out" in told[-1].sentence


@pytest.mark.parametrize("name", ["a\0b", "round.csv"])
def test_a_name_that_leads_to_no_file_is_one_sentence(tmp_path, monkeypatch, name):
    """A name with a NUL, and a link that leads to itself, ended as faults of the harness."""
    monkeypatch.chdir(tmp_path)
    Path("round.csv").symlink_to("round.csv")
    evals = {"evals": [{"id": 1, "prompt": "Clip?", "files": [name]}]}
    Path("evals.json").write_text(json.dumps(evals))

    assert own_files('glob("*.csv")', tmp_path) == ()
    (found,) = read(Path(name))
    assert isinstance(found, Unreadable)
    with pytest.raises(UserError, match="expected a text file"):
        read_evals(Path("evals.json"), BANK)


def test_a_name_that_is_no_text_is_told_all_the_same(tmp_path):
    """It ended as a fault of the harness."""
    path = tmp_path / os.fsdecode(b"a\xff.md")
    path.touch()
    (found,) = given_answers([str(path)], None, load_bank(default_bank()), Choice())

    found.name.encode()


def test_of_very_many_broken_links_the_first_ones_are_told():
    links = "\n".join(f"[a](nowhere{n}.md)" for n in range(500))
    found = list(check_links(read_skill("x", {"SKILL.md": links}, frozenset({"SKILL.md"}))))

    assert len(found) == 51
    assert found[-1].sentence == "450 more links are like these."


def test_a_pattern_that_goes_round_in_a_link_ends(tmp_path):
    """It ran on for minutes: each ``**`` goes through the link forty times."""
    (tmp_path / "round").symlink_to(".")
    (tmp_path / "a.md").write_text("a")
    (refused,) = _all_of(f"{tmp_path}/{'**/x*/' * 40}*.md")

    found = _all_of(f"{tmp_path}/{'**/' * 40}a.md")
    assert "too many" in refused.sentence
    assert any(not isinstance(one, Unreadable) for one in found)  # the deepest may be refused


def _all_of(pattern):
    return [one for unit in units([pattern], None, Choice()) for one in unit.read()]


def test_of_a_bank_full_of_problems_the_first_ones_are_told():
    """A folder of five thousand broken scenarios printed 3.7 MB."""
    told = BankProblems(Problem(Path(f"{i}.yaml"), 1, "broken") for i in range(9999))

    assert len(str(told).splitlines()) < 60
    assert "9999 problems" in str(told)
    assert len(told.errors) == 9999


def test_what_is_printed_cannot_steer_a_terminal(capsys):
    """A title of a foreign bank cleared the screen."""
    output = Output()
    output.text("\x1b[2J\u202eowned\x9b1m")
    output.show(Panel(Text("\x1b[2J\u202eowned"), title="\x1b]0;x\x07"))

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", capsys.readouterr().out)


def test_modules_of_the_folder_that_it_is_run_in_are_not_imported(tmp_path: Path) -> None:
    """``python -m`` looks there first, and it may be somebody else's repository."""
    for name in ("yaml", "typing", "signal", "json", "pydantic"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'a').close()\n")
    done = subprocess.run(
        [sys.executable, "-m", "harness", "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()
