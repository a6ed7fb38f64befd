"""A second run: what did not change is not run again, and what changed is told."""

import subprocess
import sys

import pytest

from harness.agents.cache import Cache, key_of
from harness.checking import check_skill
from harness.checking.kept import KeptResults

PAGE = """# Page

```python
import torch
assert torch.ones(2).sum() == {total}
```

{text}

```python
import torch
assert torch.zeros(2).sum() == 1
```
"""

ENDLESS = """import torch
layer = torch.nn.Linear(2, 1)
steps = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(torch.ones(4, 2)).mean().backward()
steps.step()
while True:
    pass
"""


def never(_jobs: int) -> object:
    raise AssertionError("something is run")


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE.format(total=2, text="Text."))
    return path


@pytest.fixture
def kept(tmp_path):
    return KeptResults(Cache(tmp_path / "kept"))


def test_an_unchanged_page_is_not_run_again(page, kept, warm):
    first = check_skill(page, warm, kept=kept)
    again = check_skill(page, never, kept=kept)

    assert again.blocks == first.blocks
    assert (first.ran, again.ran) == (2, 0)
    assert (first.since_last, again.since_last) == (None, ())


def test_a_block_that_moved_is_not_run_and_names_its_new_lines(page, kept, warm):
    check_skill(page, warm, kept=kept)
    page.write_text(PAGE.format(total=2, text="More.\n\nText."))
    moved = check_skill(page, never, kept=kept)

    assert "line 14 raises AssertionError" in moved.blocks[1].parts[0].sentence


def test_a_second_run_tells_which_block_changed(page, kept, warm):
    check_skill(page, warm, kept=kept)
    page.write_text(PAGE.format(total=3, text="Text."))
    changed = check_skill(page, warm, kept=kept)

    assert changed.ran == 1
    assert [(s.place, s.before, s.after) for s in changed.since_last or ()] == [
        ("page.md:3", None, "fault")
    ]


def test_looking_at_claims_only_changes_no_block(page, kept, warm):
    """What has no mark was said to have changed, and to have changed back."""
    check_skill(page, warm, kept=kept)
    only = check_skill(page, never, kept=kept, claims_only=True)

    assert [block.status for block in only.blocks] == ["runs", "runs"]
    assert (only.since_last, check_skill(page, never, kept=kept).since_last) == ((), ())


@pytest.mark.full  # it waits for the clock
def test_a_block_without_an_end_is_not_run_again(tmp_path, kept, warm):
    """It had its time of a processor: nothing but the machine's being busy is left to chance. Before
    any update it would get the usual time as well, five times as much.
    """
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```python\n{ENDLESS}```\n")
    first = check_skill(page, warm, kept=kept)

    assert "still running" in first.blocks[0].parts[0].sentence
    assert check_skill(page, never, kept=kept).blocks == first.blocks


def test_what_an_older_version_kept_of_a_last_run_is_no_last_run(page, kept, warm):
    """It called a result by another name: nothing is said of what changed, and nothing breaks."""
    first = check_skill(page, warm, kept=kept)
    key = key_of(last=str(page.resolve()))
    file = kept.cache.folder / key[:2] / f"{key}.json"
    file.write_text(file.read_text().replace('"runs"', '"could-not-tell"', 1))

    again = check_skill(page, never, kept=kept)
    assert (again.since_last, again.blocks) == (None, first.blocks)


def test_a_second_run_imports_neither_torch_nor_what_talks_to_models():
    asked = "import sys, harness.cli.check, harness.checking.kept, harness.checking, harness.instruments"
    told = "print(sorted({'torch', 'anthropic', 'openai'} & {*sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{asked}\n{told}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
