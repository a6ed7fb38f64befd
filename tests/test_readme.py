"""The README and the pages beside it tell the truth: what they show is run, and compared."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.domain.scenario import Bank
from harness.report.tree_page import PACKAGE, render_modules
from harness.runner import Settings, run_bank
from harness.scenarios import load_bank

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = (ROOT / "docs" / "modules.md").read_text(encoding="utf-8")
ADDING = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")


def block(name: str, page: str = README) -> str:
    """What stands between a pair of markers."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, re.DOTALL)
    assert found, f"no <!-- {name} --> block"
    return found[1]


def entries(tree: str) -> str:
    """Without the lines in which a phrase goes on."""
    return re.sub(r"^ {41}.*\n", "", tree, flags=re.MULTILINE)


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
    assert modules() - paths_in(entries(block("tree", MODULES))) == set()


def test_the_page_of_modules_lists_nothing_that_is_not_there():
    """What lies beside the package is written by hand."""
    assert {
        path for path in paths_in(entries(block("tree", MODULES))) if not (ROOT / path).exists()
    } == set()


def test_every_entry_of_the_tree_has_a_phrase():
    """A name alone says nothing to somebody who is new here."""
    lines = entries(block("tree", MODULES)).strip("`\n").split("\n")

    assert [line for line in lines[1:] if len(line.split()) < 2] == []


def write_example(root: Path) -> Bank:
    """The page's scenario, written to files the way its reader would."""
    pattern = r"`((?:scenarios|reference_impls)/\S+)`[^\n]*:\n\n(`{3,})\w+\n(.*?)\2\n"
    files = re.findall(pattern, block("example", ADDING), re.DOTALL)
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
    parts = [
        part.replace("\\\n", " ")
        for block in blocks
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
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


def test_the_example_behaves_as_declared(tmp_path, warm):
    """On real torch, in the jail, measured by the oracle."""
    outcome = run_bank(write_example(tmp_path), Settings(jobs=1), warm)

    assert [result.surprises for result in outcome.run.results] == [()]
    assert outcome.exit_code == 0


def test_the_page_of_the_house_names_files_that_are_there():
    """The way of one answer, with the file at each step."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`?(harness/[\w/]*(?:\.py|\.yaml|/))", page))

    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_the_glossary_names_classes_and_fields_that_are_there():
    """Each word with its class, in the last column."""
    rows = re.findall(r"^\|.*\| (.*) \|$", page_of("glossary"), re.MULTILINE)
    named = [name.partition(".") for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    fields = {
        node.name: set(
            re.findall(r"^    (?:def )?(\w+)", ast.get_source_segment(text, node), re.MULTILINE)
        )
        for path in PACKAGE.rglob("*.py")
        for text in [path.read_text(encoding="utf-8")]
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
    }

    assert len(named) > 50
    assert [name for name, _, field in named if field not in {"", *fields.get(name, ())}] == []
    assert [name for name, _, _ in named if name not in fields] == []


def test_a_word_stands_in_the_glossary_once():
    """Two sentences about one word would be two meanings."""
    words = re.findall(r"^\| ([^|]+) \|", page_of("glossary"), re.MULTILINE)
    single = [part for word in words if word not in ("word", "---") for part in word.split(", ")]

    assert len(single) == len(set(single))


def page_of(name):
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_the_readme_is_short():
    """Somebody who is new reads all of it."""
    assert len(README.splitlines()) <= 130
    assert max(map(len, README.splitlines())) <= 100
