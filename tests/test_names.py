"""Names: of the table that `harness names` lists, and of classes; and how long a function may be."""

import ast
import json
import re
from collections import Counter
from pathlib import Path

from typer.testing import CliRunner

from harness.cli import app

PACKAGE = Path(__file__).resolve().parents[1] / "harness"
WALL = 50
"""Lines of a function, with its signature and docstring."""


def test_names_lists_every_role_with_its_spellings():
    said = CliRunner().invoke(app, ["names"]).stdout

    assert "  loader\n" in said
    assert "train_loader" not in said.split("  loader\n")[0]


def test_names_as_json_are_the_table_as_data():
    said = CliRunner().invoke(app, ["names", "--json"]).stdout

    assert "accum_steps".replace("_", " ") in json.loads(said)["numbers"]["accumulation"]


def test_the_name_of_a_class_means_one_thing():
    """A stranger looks it up and finds one, be it a class or a type by another name, private ones
    among them. Stand-ins are named as the libraries' own are.
    """
    sources = [path for path in PACKAGE.rglob("*.py") if "standins" not in path.parts]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    classes = Counter(re.findall(r"^class (\w+)", code, re.MULTILINE))
    by_another_name = re.findall(r"^([A-Z]\w*[a-z]\w*)(?:: \w+)? = (?!TypeVar)", code, re.MULTILINE)

    assert [name for name, times in classes.items() if times > 1] == []
    assert sorted(set(by_another_name) & set(classes)) == []


def test_a_function_fits_on_a_screen():
    long = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        if (node.end_lineno or 0) - node.lineno >= WALL
    ]

    assert long == []
