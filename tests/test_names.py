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
    """A stranger looks it up and finds one. Stand-ins are named as the libraries' own are."""
    sources = [path for path in PACKAGE.rglob("*.py") if "standins" not in path.parts]
    names = Counter(
        name
        for path in sources
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if not name.startswith("_")
    )

    assert [name for name, times in names.items() if times > 1] == []


def test_a_function_fits_on_a_screen():
    long = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        if (node.end_lineno or 0) - node.lineno >= WALL
    ]

    assert long == []
