"""The story of a check, with a jail and an oracle that only pretend."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.checking import check_skill
from harness.domain.errors import CannotExecuteHere, HarnessFault, UsageError
from tests.fakes import unreadable
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens
from tests.fakes.patience import PATIENCE

HEAD = "---\nname: tiny\ndescription: Use it when a test of the checker needs a skill that is tiny.\n---\n"
TWO = HEAD + "\n# A\n\n```python\nx = 1\n```\n\n# B\n\n```python\nbroken = 2\n```\n"


def folder(tmp_path: Path, text: str, name: str = "tiny") -> Path:
    path = tmp_path / name
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(text)
    return path


def test_a_fault_of_ours_in_one_block_leaves_the_others_checked(tmp_path):
    def before(candidate, *_):
        if "broken" in candidate.program:
            raise HarnessFault("the sandbox died")

    report = check_skill(folder(tmp_path, TWO), opens(FakeExecutor(before)))
    assert [fault.place for fault in report.faults] == ["SKILL.md:14"]
    assert len(report.blocks) == 1
    assert report.exit_code == 3


def test_a_machine_that_cannot_run_anything_is_no_fault_of_ours(tmp_path):
    def before(*_):
        raise CannotExecuteHere("needs Linux")

    with pytest.raises(CannotExecuteHere):
        check_skill(folder(tmp_path, TWO), opens(FakeExecutor(before)))


def test_ctrl_c_leaves_what_was_finished(tmp_path):
    """A block that was cut off is no result, nor a fault; and half of a skill is compared with nothing."""
    closed = threading.Event()

    def before(candidate, *_):
        if "broken" in candidate.program:
            assert closed.wait(PATIENCE), "nothing was closed"
            raise ConnectionError("closed")

    @contextmanager
    def open_(jobs):
        with opens(FakeExecutor(before))(jobs) as tools:
            try:
                yield tools
            finally:
                closed.set()

    def interrupt(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    old = folder(tmp_path / "old", TWO)
    report = check_skill(folder(tmp_path, TWO), open_, against=old, watch=interrupt)
    assert [block.line for block in report.blocks] == [8]
    assert (report.faults, report.comparison) == ((), None)
    assert (report.interrupted, report.exit_code) == (True, 130)


def test_a_block_that_did_not_change_is_not_run_twice(tmp_path):
    ran = []
    executor = FakeExecutor(lambda candidate, *_: ran.append(candidate.program))
    new = folder(tmp_path, TWO.replace("broken = 2", "broken = 3"))
    old = folder(tmp_path / "old", TWO)
    report = check_skill(new, opens(executor), against=old)
    assert len(ran) == 3
    assert {(c.what, c.name) for c in report.comparison.changes} == {
        ("section", "B"),
        ("block", "block 2, B"),
    }


def test_a_skill_without_python_needs_no_jail(tmp_path):
    def never(_jobs):
        raise AssertionError

    report = check_skill(folder(tmp_path, HEAD + "\nWords.\n"), never)
    assert (report.blocks, report.exit_code) == ((), 0)


def test_notes_about_the_machine_reach_the_report(tmp_path):
    report = check_skill(folder(tmp_path, TWO), opens(FakeExecutor(), "landlock: missing"))
    assert report.machine_notes == ("landlock: missing",)


GUIDE = "# Guide\n\n[a](a.md) [b](../b.md) [site](/c) [top](#guide) [folder](images/)\n\n```python\nx = 1\n```\n"


def page(tmp_path: Path, name: str, text: str) -> Path:
    """One page with files around it to which a page may link."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    for there in ("docs/a.md", "b.md"):
        (tmp_path / there).touch()
    (tmp_path / "docs" / name).write_text(text)
    return tmp_path / "docs" / name


@pytest.mark.parametrize(
    "text", [GUIDE, "---\ntitle: Guide\n---\n" + GUIDE], ids=["bare", "with a head"]
)
def test_of_a_page_that_is_no_skill_only_what_it_says_is_checked(tmp_path, text):
    """It was refused for the head of a skill that it has not, and for links to its neighbours."""
    report = check_skill(page(tmp_path, "guide.md", text), opens(FakeExecutor()))

    assert report.is_page
    assert (report.format, len(report.blocks), report.exit_code) == ((), 1, 0)


def test_a_page_whose_links_lead_nowhere_is_told_so(tmp_path):
    text = "[a](gone.md)\n\n[b](#nowhere)\n"

    report = check_skill(page(tmp_path, "guide.md", text), opens(FakeExecutor()))

    assert [(f.level, f.line, f.rule) for f in report.format] == [
        ("error", 1, "reference"),
        ("error", 3, "reference"),
    ]
    assert report.exit_code == 1


def test_a_skill_md_alone_is_held_against_the_format_and_its_links_against_its_folder(tmp_path):
    """The file was named instead of its folder: all that differs is that other pages are not read."""
    text = HEAD.replace("tiny", "docs") + "\n[a](a.md)\n\n[b](../b.md)\n"

    report = check_skill(page(tmp_path, "SKILL.md", text), opens(FakeExecutor()))

    assert not report.is_page
    assert [(f.line, f.sentence) for f in report.format] == [
        (8, "The link ../b.md leads to no file of the skill.")
    ]


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_what_cannot_be_read_gets_one_sentence(tmp_path, content):
    path = tmp_path / "tiny"
    path.mkdir()
    if content is not None:
        (path / "SKILL.md").write_bytes(content)
    with pytest.raises(UsageError, match=r"SKILL\.md"):
        check_skill(path, opens(FakeExecutor()))


def test_a_part_that_cannot_be_read_is_not_left_out_in_silence(tmp_path):
    """The rest was called the skill, and found to be in order."""
    inner = unreadable.folder_in(folder(tmp_path, TWO))

    with pytest.raises(UsageError, match=f"^{inner}.* cannot be read: File name too long$"):
        check_skill(tmp_path / "tiny", opens(FakeExecutor()))


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(UsageError, match="nowhere does not exist"):
        check_skill(tmp_path / "nowhere", opens(FakeExecutor()))


def test_a_pipe_is_not_called_missing(tmp_path):
    """``harness check <(git show HEAD:SKILL.md)``."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UsageError, match="pipe is neither a folder nor a file"):
        check_skill(tmp_path / "pipe", opens(FakeExecutor()))


def test_a_file_that_is_no_markdown_is_no_page(tmp_path):
    """It was called a page without a block, and in order."""
    with pytest.raises(UsageError, match=r"labels.yaml is no Markdown file: .* page \(\.md\)"):
        check_skill(page(tmp_path, "labels.yaml", "a: 1\n"), opens(FakeExecutor()))


PAGE = """# Page

A NaN is clipped away, as before:

```python
import torch
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=0.1)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.5, total_steps=100)
for _ in range(100):
    opt.zero_grad()
    (w ** 2).sum().backward()
    opt.step()
    sched.step()
assert sched.last_epoch == {last}
```
"""


@pytest.mark.parametrize(("last", "status"), [(100, "runs"), (90, "fault")])
def test_an_assertion_behind_a_loop_that_is_cut_is_held_against_the_whole_of_it(
    tmp_path, warm, last, status
):
    block, *_ = check_skill(page(tmp_path, "page.md", PAGE.format(last=last)), warm).blocks

    assert block.status == status


ON_A_PAGE = """# Training

Parameters that do not train are left out:

```python
{what}
```
"""
EPOCH = """import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


def train_one_epoch(model, loader, optimizer):
    for x, y in loader:
        {clear}
        nn.functional.mse_loss(model(x.to(device)), y.to(device)).backward()
        optimizer.step()"""
CYCLE = """schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3 * len(loader))
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step(){within}
    {after}"""
FROZEN = """import torch
bn = torch.nn.BatchNorm1d(2)
bn.requires_grad_(False)
mean = bn.running_mean.clone()
bn(torch.randn(8, 2) + 3)
assert {how}torch.equal(mean, bn.running_mean)"""
COPIED = """import copy
prepared = {made}
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(prepared(x), y).backward()
    optimizer.step()"""
CASES = {
    "a loop that detaches, and one with a copy that an optimizer of ours does not hold": (
        COPIED.format(made="lambda x: model(x).detach().requires_grad_()"),
        COPIED.format(made="copy.deepcopy(model)"),
    ),
    "a function that nobody calls, beside an object of its page": (
        EPOCH.format(clear="pass"),
        EPOCH.format(clear="optimizer.zero_grad()"),
    ),
    "a schedule as long as there are updates, stepped once a pass": (
        CYCLE.format(within="", after="schedule.step()"),
        CYCLE.format(within="\n        schedule.step()", after="pass"),
    ),
    "an assertion about what does not train": (
        FROZEN.format(how=""),
        FROZEN.format(how="not "),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fault_without_a_mark_is_found_and_its_right_twin_is_not_blamed(tmp_path, warm, case):
    texts = [ON_A_PAGE.format(what=what) for what in CASES[case]]
    path = page(tmp_path, "page.md", "")
    found = []
    for text in texts:
        path.write_text(text)
        found += [block.status for block in check_skill(path, warm).blocks]
    assert found == ["fault", "runs"]


def test_a_message_that_ends_in_a_full_stop_gets_no_second_one(tmp_path, warm):
    text = ON_A_PAGE.format(what="import torch\nraise ValueError('too small.')")
    block, *_ = check_skill(page(tmp_path, "page.md", text), warm).blocks
    assert block.parts[0].sentence == "It does not run: line 7 raises ValueError: too small."


def test_a_fault_that_the_text_proves_counts_where_the_block_cannot_be_run(tmp_path, warm):
    stops = "import no_such_package\nno_such_package.begin()\n"
    texts = ("optimizer.lr = 1e-5", "optimizer.param_groups[0]['lr'] = 1e-5")
    path = page(tmp_path, "page.md", "")
    found = []
    for text in texts:
        path.write_text(ON_A_PAGE.format(what=stops + text))
        found += [block.status for block in check_skill(path, warm).blocks]
    assert found == ["fault", "cannot-be-run"]
