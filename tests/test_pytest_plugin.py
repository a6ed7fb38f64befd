"""The pytest plugin: what a project's own tests can ask."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = '''
def test_a_right_loop_is_right(grade):
    code = """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
    assert grade(code).code == "right"


def test_a_file_is_graded_by_the_same_grader(grade, grader):
    found = grade("train.py")
    assert found.code == "wrong"
    assert "clip-once-per-update" in found.reasons[0]
'''
TRAIN = Path(__file__).parents[1] / "examples" / "train.py"


def test_a_project_grades_its_trainer_in_its_own_tests(tmp_path):
    """With nothing but the two fixtures."""
    (tmp_path / "test_training.py").write_text(TESTS)
    (tmp_path / "train.py").write_text(TRAIN.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "harness.pytest_plugin"]
    paths = os.pathsep.join([str(TRAIN.parents[1]), os.environ.get("PYTHONPATH", "")])
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr
