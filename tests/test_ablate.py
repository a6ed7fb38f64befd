"""`harness compare --ablate`: a skill without each of its sections, against the whole."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.agents.sections import sections_of, without
from harness.agents.skill_text import load_skill_text
from harness.cli import app
from harness.domain.errors import UsageError
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens
from tests.test_compare import OBEYS

TEXT = """---
name: toy
description: Advice.
---
# Toy

## Losses

use one

### Below

## Nothing

It says nothing.

```python
## no heading
```

# End
"""

COVERAGE = """rows:
  - source: skill
    position: section 1
    subject: which loss to take
    covered_by: [page:SKILL.md#losses, scenario:scenario-1]
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "SKILL.md").write_text(TEXT)
    return folder


@pytest.fixture
def asked(tmp_path: Path, skill: Path):
    """The command, for eight scenarios and an agent that is right exactly when it reads "use one"."""
    fake = FakeBank(tmp_path)
    for number in range(8):
        fake.add(f"scenario-{number}")
    script = tmp_path / "agent.py"
    script.write_text(OBEYS)
    command = ["compare", "--ablate", "--bank", fake.folder, "--skill", skill, "--trials", "1"]
    command += ["--agent", f"command:{sys.executable} {script}"]

    def call(*options):
        return CliRunner().invoke(app, [*map(str, command), *map(str, options)], obj=opens(FakeExecutor()))  # fmt: skip

    return call


def test_a_section_reaches_to_the_next_heading_of_its_level_or_above(skill):
    """A heading in a block of code is none, and what stands below goes with it."""
    found = load_skill_text(skill)
    losses, nothing = sections_of(found, 2)

    assert [(s.name, s.first, s.last) for s in (losses, nothing)] == [
        ("losses", 7, 12),
        ("nothing", 13, 20),
    ]
    assert without(found, losses).main == TEXT.replace("## Losses\n\nuse one\n\n### Below\n\n", "")


def test_a_skill_without_headings_of_that_level_is_refused_with_those_it_has(skill):
    """What to give with --level."""
    with pytest.raises(UsageError, match=r"no heading of level 4 .* of level 1, 2, 3; name one"):
        sections_of(load_skill_text(skill), 4)


def test_the_section_that_does_the_work_is_told_from_the_one_that_does_not(asked, tmp_path):
    """All is lost without the one; without the other nothing is shown by a single trial."""
    (tmp_path / "coverage.yaml").write_text(COVERAGE)
    result = asked("--coverage", tmp_path / "coverage.yaml", "--json", "--out", tmp_path / "runs")
    losses, nothing = json.loads(result.stdout)["sections"]

    assert result.exit_code == 0
    assert (losses["says"], losses["covers"]) == ("lost", ["which loss to take"])
    assert [c["scenario"] for c in losses["scenarios"] if c["covered"]] == ["scenario-1"]
    assert (nothing["says"], nothing["estimate"]["effect"]) == ("inconclusive", 0)
    assert {p.name for p in (tmp_path / "runs").iterdir() if p.is_dir()} == {"whole", "without-losses", "without-nothing"}  # fmt: skip


def test_what_it_costs_and_can_show_is_said_before_anything_is_asked(asked):
    """The levels are divided by the number of sections."""
    result = asked("--plan")

    assert result.exit_code == 0
    assert "8 scenarios in 3 trials; 24 runs of the command" in result.stderr
    assert "2 sections: Losses, Nothing" in result.stderr
    assert "corrected for the 2" in result.stderr


@pytest.mark.full
def test_the_table_names_what_changed_scenario_by_scenario(asked):
    """For people."""
    said = asked("--plain").stdout

    assert "without Losses: scenario-0 1/1 -> 0/1, scenario-1 1/1 -> 0/1," in said
    assert "without Nothing: 8 scenarios as before" in said


@pytest.mark.full
def test_in_rounds_a_section_whose_answer_is_clear_is_asked_no_further(asked, tmp_path):
    """The whole skill is asked once a round, however many sections go on."""
    asked("--sequential", "--trials", "3", "--out", tmp_path / "runs")
    lines = {
        folder.name: len((folder / "answers.jsonl").read_text().splitlines())
        for folder in (tmp_path / "runs").iterdir()
        if folder.is_dir()
    }

    assert lines == {"whole": 24, "without-losses": 8, "without-nothing": 24}


def test_several_skills_are_none_to_leave_something_out_of(asked, skill):
    """One sentence."""
    result = asked("--skill", skill)

    assert (result.exit_code, "--ablate takes one --skill DIR" in result.stderr) == (2, True)
