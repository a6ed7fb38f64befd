"""The command that lists the table of names."""

import json
import subprocess
import sys


def test_names_lists_every_role_with_its_spellings():
    said = subprocess.run(
        [sys.executable, "-m", "harness", "names"], capture_output=True, text=True, check=True
    ).stdout

    assert "  loader\n" in said
    assert "train_loader" not in said.split("  loader\n")[0]


def test_names_as_json_are_the_table_as_data():
    said = subprocess.run(
        [sys.executable, "-m", "harness", "names", "--json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "accum_steps".replace("_", " ") in json.loads(said)["numbers"]["accumulation"]
