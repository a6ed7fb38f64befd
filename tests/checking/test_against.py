"""Two versions of a skill: what changed, and which scenarios exercise it."""

from pathlib import Path

from typer.testing import CliRunner

from harness.checking.against import compare
from harness.cli import app
from harness.domain.check import BlockResult, Observation, PartResult, Status
from harness.domain.scenario import Bank
from harness.domain.skill import Skill
from harness.skills import read_skill
from tests.bank import BANK

OLD = "# S\n\n## Clipping\n\nText.\n\n```python\n# RIGHT: a\nx = 1\n```\n\n## Gone\n\nBye.\n"


def skill(text: str) -> Skill:
    return read_skill("s", {"SKILL.md": text}, frozenset({"SKILL.md"}))


def results(of: Skill, status: Status, *seen: Observation) -> list[BlockResult]:
    part = PartResult(
        line=1, kind="configuration", mark=None, status=status, sentence="", observations=seen
    )
    return [
        BlockResult(
            file=e.file, position=e.position, line=e.line, end=e.end, digest=e.digest,
            headings=e.headings, parts=(part,),
        )
        for e in of.examples
    ]  # fmt: skip


def changes(
    new: str, old: str = OLD, after: Status = "holds", before: Status = "holds"
) -> set[tuple[str, str, str]]:
    now, then = skill(new), skill(old)
    found = compare(now, results(now, after), then, results(then, before), "old", None)
    return {(c.what, c.how, c.name) for c in found.changes}


def test_a_skill_differs_in_nothing_from_itself():
    assert changes(OLD) == set()


def test_an_edited_block_and_its_section_are_changed():
    assert changes(OLD.replace("x = 1", "x = 2")) == {
        ("section", "changed", "S > Clipping"),
        ("block", "changed", "block 1, S > Clipping"),
    }


def test_a_mark_that_turns_round_is_a_changed_claim():
    assert ("claim", "changed", "block 1, S > Clipping") in changes(OLD.replace("RIGHT", "WRONG"))


def test_a_block_that_fails_now_changed_its_status_even_if_nobody_touched_it():
    assert changes(OLD, after="fails") == {("status", "changed", "block 1, S > Clipping")}


def test_a_fault_that_comes_or_goes_is_told_where_a_block_claims_nothing():
    """Its status is the same: without this line nothing but the text would seem to differ."""
    fault = Observation(sentence="The clip came after the step.", fault=True)
    now, sound, faulty = skill(OLD), results(skill(OLD), "runs"), results(skill(OLD), "runs", fault)

    def told(after: list[BlockResult], before: list[BlockResult]) -> list[tuple[str, str, str]]:
        found = compare(now, after, now, before, "old", None)
        return [(c.what, c.how, c.after or c.before) for c in found.changes]

    assert told(faulty, sound) == [("fault", "added", fault.sentence)]
    assert told(sound, faulty) == [("fault", "removed", fault.sentence)]
    assert told(faulty, faulty) == []


def test_a_right_block_that_becomes_like_a_wrong_one_is_the_one_that_changed():
    """What is unchanged under the same mark is paired first, whatever stands before it."""
    old = "# S\n\nRIGHT: a\n\n```python\nx = 1\n```\n\nWRONG: b\n\n```python\nx = 2\n```\n"

    assert changes(old.replace("x = 1", "x = 2"), old) == {
        ("section", "changed", "S"),
        ("block", "changed", "block 1, S"),
    }


def test_of_two_sections_with_one_heading_neither_hides_the_other():
    old = "# S\n\n## Example\n\nOne.\n\n## Example\n\nTwo.\n"

    assert changes(old.replace("One.", "Three."), old) == {("section", "changed", "S > Example")}
    assert changes(f"{old}\n## Example\n\nThree.\n", old) == {("section", "added", "S > Example")}


def test_a_block_that_only_moved_did_not_change():
    moved = OLD.replace("## Gone", "## Other").replace("Text.", "Text.\n\nMore text before it.")
    assert not {c for c in changes(moved) if c[0] == "block"}


def test_sections_come_and_go():
    found = changes(OLD.replace("## Gone\n\nBye.", "## Come\n\nHello."))
    assert {("section", "removed", "S > Gone"), ("section", "added", "S > Come")} <= found


def test_scenarios_that_exercise_a_changed_section_are_named():
    bank: Bank = BANK
    old = skill("# S\n\n## Conflicting advice\n\nOld.\n\n## Weather\n\nOld.\n")
    new = skill("# S\n\n## Conflicting advice\n\nNew.\n\n## Weather\n\nNew.\n")
    found = compare(new, [], old, [], "old", bank)
    assert found.scenarios == {"conflicting-advice": ("S > Conflicting advice",)}


PAGE = """---
name: s
description: Trains models. Use when a model has to be trained.
---

# S

## Loop

```python
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
```

## Values

```python
print(1 + 1)  # 2
```
"""


def test_the_command_tells_what_an_edit_changed_and_what_came_of_it(tmp_path, warm):
    """The block that nobody touched is named nowhere."""
    old, new = tmp_path / "old" / "s", tmp_path / "new" / "s"
    clears, steps = "    optimizer.zero_grad()\n", "    optimizer.step()\n"
    wiped = PAGE.replace(clears, "").replace(steps, clears + steps)
    for folder, text in ((old, PAGE), (new, wiped)):
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)

    def check(*arguments: Path | str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["check", *map(str, arguments)], obj=warm)
        return result.exit_code, result.output

    code, said = check(new, "--against", old)

    assert (code, f"against {old}\n" in said) == (1, True)
    assert "block changed: block 1, S > Loop" in said
    assert "status changed: block 1, S > Loop: runs -> fault" in said
    assert "Values" not in said
    assert check(old, "--against", old)[0] == 0
    assert check(new, "--against", tmp_path / "nowhere")[0] == 2
