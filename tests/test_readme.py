"""The README tells the truth: its tree is the folder, and its example is a scenario that works."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.domain.scenario import Bank
from harness.report.tree_page import PACKAGE, render_modules, render_tree
from harness.runner import Settings, run_bank
from harness.scenarios import default_bank, load_bank

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = (ROOT / "docs" / "modules.md").read_text(encoding="utf-8")


def block(name: str, page: str = README) -> str:
    """What stands between a pair of markers."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, re.DOTALL)
    assert found, f"no <!-- {name} --> block"
    return found[1]


def paths_in(tree: str) -> set[str]:
    """The paths that a tree lists, read off its indentation by two."""
    folders: list[str] = []
    found = set()
    for line in tree.strip("`\n").split("\n"):
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name.rstrip("/")]
        found.add("/".join(folders))
    return found


def modules() -> set[str]:
    """Modules and packages under harness/, one or two levels deep."""
    harness = ROOT / "harness"
    inside = [*harness.glob("*.py"), *harness.glob("*/*.py"), *harness.glob("*/*/__init__.py")]
    listed = {p.parent if p.name == "__init__.py" else p for p in inside}
    top = {str(p.relative_to(ROOT)) for p in listed | {p.parent for p in inside}}
    return top | {"harness/__init__.py"}


def test_the_page_of_modules_is_what_make_docs_writes():
    """Whoever adds a module says in a phrase what it is for."""
    assert block("tree", MODULES).strip("`\n") == render_modules(PACKAGE)


def test_the_page_of_modules_leaves_none_out():
    """Counted without the code that writes the page."""
    assert modules() - paths_in(block("tree", MODULES)) == set()


def test_the_tree_is_what_make_docs_writes():
    """A package that was renamed is renamed in the README too."""
    assert block("tree").strip("`\n") == render_tree(PACKAGE)


def test_the_tree_lists_nothing_that_is_not_there():
    """What lies beside the package is written by hand."""
    assert {path for path in paths_in(block("tree")) if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("page", [README, MODULES], ids=["README", "modules"])
def test_every_entry_of_a_tree_has_a_phrase(page: str):
    """A name alone says nothing to somebody who is new here."""
    lines = block("tree", page).strip("`\n").split("\n")

    assert [line for line in lines[1:] if len(line.split()) < 2] == []


def test_the_table_of_a_run_says_what_the_bank_declares():
    """Its rows are real ones, and its last line counts the bank."""
    declared = {s.id: ", ".join(s.buggy_fails) for s in load_bank(default_bank()).scenarios}
    rows = re.findall(r"^(\S+)  +(.+?)  as declared +right", block("run"), re.MULTILINE)

    assert rows
    assert all(declared[name] == failed for name, failed in rows)
    assert f"{len(declared)} of {len(declared)} scenarios" in block("run")


def write_example(root: Path) -> Bank:
    """The README's scenario, written to files the way its reader would."""
    pattern = r"`((?:scenarios|reference_impls)/\S+)`[^\n]*:\n\n(`{3,})\w+\n(.*?)\2\n"
    files = re.findall(pattern, block("example"), re.DOTALL)
    assert len(files) == 4
    for path, _, content in files:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return load_bank(root / "scenarios")


def test_the_example_is_a_sound_scenario(tmp_path):
    """Copying the four blocks gives a bank without a complaint."""
    assert [s.id for s in write_example(tmp_path).scenarios] == ["forgotten-zero-grad"]


def uses() -> list[tuple[str, list[str]]]:
    """Every command of the README's uses, with the lines that it is said to print."""
    blocks = re.findall(r"<!-- use -->\n```console\n(.*?)```", README, re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(part.split("\n")[0], part.rstrip("\n").split("\n")[1:]) for part in parts]


@pytest.mark.full
@pytest.mark.parametrize(("command", "lines"), uses(), ids=lambda value: str(value)[:40])
def test_a_command_of_the_readme_prints_what_the_readme_shows(command, lines):
    """Everything between two ellipses is printed, in this order; no traceback."""
    done = subprocess.run(
        [sys.executable, *shlex.split(command)[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    printed = done.stdout
    for piece in filter(None, map(str.strip, "\n".join(lines).split("..."))):
        assert piece in printed, done.stdout + done.stderr
        printed = printed.partition(piece)[2]
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr


def test_the_readme_shows_a_script_that_is_judged_and_four_uses():
    """A use without a command that runs is a promise."""
    assert len(re.findall("<!-- use -->", README)) == 5
    assert all(command.startswith("python -m harness ") and lines for command, lines in uses())


def test_the_script_of_the_readme_is_the_one_that_is_judged():
    """Whoever copies it gets the same verdict."""
    shown = block("script").strip().removeprefix("```python\n").removesuffix("```")
    assert shown == (ROOT / "examples/train.py").read_text(encoding="utf-8")


def test_the_example_behaves_as_declared(tmp_path):
    """On real torch, in the jail, measured by the oracle."""
    outcome = run_bank(write_example(tmp_path), Settings(jobs=1))

    assert [result.surprises for result in outcome.run.results] == [()]
    assert outcome.exit_code == 0
