"""An answer beside the file that it changes: what is run is the whole file, changed."""

import pytest

from harness.domain.candidate import NoCandidate
from harness.domain.own import OWN_SCENARIO
from harness.domain.transcript import Message, Origin, Transcript
from harness.extraction.extract import extract
from harness.markdown import fence

SCRIPT = """\
import torch
from torch import nn


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()


def main():
    model = nn.Linear(2, 1)
    train(model, [], torch.optim.SGD(model.parameters(), lr=0.1))


main()
"""
CLIP = "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP = "        optimizer.step()\n"
CLIPPED = SCRIPT.replace(STEP, CLIP + STEP)
FUNCTION = CLIPPED.partition("\n\n\n")[2].partition("\n\n\n")[0]
OLD, NEW = f"        loss.backward()\n{STEP}", f"        loss.backward()\n{CLIP}{STEP}"


def run_of(answer: str, posted: str = SCRIPT) -> str | NoCandidate:
    transcript = Transcript(
        messages=(Message(role="assistant", text=answer),),
        agent="unknown",
        origin=Origin(file="answer.md", format="markdown"),
    ).with_question(fence(posted, "python"))
    found = extract(transcript, OWN_SCENARIO)
    return found if isinstance(found, NoCandidate) else found[0].program


@pytest.mark.parametrize(
    "answer",
    [
        fence(f"--- a/t.py\n+++ b/t.py\n@@ -9,2 +9,3 @@\n         loss.backward()\n+{CLIP} {STEP}", "diff"),
        fence(f"@@ -1,77 +1 @@\n         loss.backward()\n+{CLIP} {STEP}", "diff"),
        fence(f"@@ def train\n         loss.backwards() # cut\n         loss.backward()\n+{CLIP} {STEP}", "diff"),
        f"In `t.py`, replace\n\n{fence(OLD, 'python')}\n\nwith\n\n{fence(NEW, 'python')}\n",
        f"Here is the function:\n\n{fence(FUNCTION, 'python')}\n",
        f"The whole file:\n\n{fence(CLIPPED, 'python')}\n",
    ],
    ids=["diff", "wrong counts", "misquoted context", "old and new lines", "a function", "a file"],
)  # fmt: skip
def test_every_way_of_showing_a_change_ends_as_the_changed_file(answer):
    program = run_of(answer)

    assert isinstance(program, str), program
    assert [li for li in program.splitlines() if li] == [li for li in CLIPPED.splitlines() if li]


def test_what_was_posted_without_an_update_gives_way_to_the_update_of_the_answer():
    posted = "def penalty(model, x):\n    return model(x).norm()\n"
    shown = fence(posted.replace("norm", "square().sum"), "python")

    step = "loss = penalty(model, x)\nloss.backward()\noptimizer.step()\n"
    program = run_of(f"{shown}\n\nIn the step:\n\n{fence(step, 'python')}\n", posted)

    assert isinstance(program, str)
    assert "optimizer.step()" in program
    assert "square().sum" in program


def test_a_new_helper_beside_a_changed_function_comes_along():
    helper = "def bound(model):\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n\n\n"
    changed = FUNCTION.replace(CLIP, "        bound(model)\n")

    program = run_of(f"Like this:\n\n{fence(helper + changed, 'python')}\n")

    assert isinstance(program, str)
    assert "def bound" in program
    assert "main()" in program
    assert program.count("def train") == 1


def test_a_change_that_has_no_place_is_run_for_nobody():
    """One of two changes fits. Half of a repair is not what the answer proposes."""
    answer = (
        f"In `t.py`, replace\n\n{fence(OLD, 'python')}\n\nwith\n\n{fence(NEW, 'python')}\n\n"
        f"In `t.py`, replace\n\n{fence('scaler.update()', 'python')}\n\nwith\n\n{fence('pass', 'python')}\n"
    )

    found = run_of(answer)

    assert isinstance(found, NoCandidate)
    assert "block 3" in found.reason


def test_settings_that_are_new_stand_behind_those_that_they_may_need():
    loop = "for x in data:\n    optimizer.step()\n    schedule.step()\n"
    posted = f"n = 8\nepochs = 3\nschedule = cosine(optimizer, epochs)\n\n{loop}"
    shown = "n = 8\nper_epoch = len(data) // n\nschedule = cosine(optimizer, per_epoch * epochs)\n"

    program = run_of(fence(shown, "python"), posted)

    assert isinstance(program, str)
    assert program.index("n = 8") < program.index("per_epoch =") < program.index("cosine(")


METHODS = """\
from torch import nn


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def one(self, x, y):
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(x), y).backward()
        self.optimizer.step()
"""
ONE = """\
    def one(self, x, y):
        self.optimizer.zero_grad()
        self.loss(x, y).backward()
        self.optimizer.step()
"""
LOSS = """\
    def loss(self, x, y):
        return nn.functional.mse_loss(self.model(x), y)
"""


def test_methods_that_are_new_go_into_the_class_of_those_that_change():
    changed = run_of(fence(f"{LOSS}\n{ONE}", "python"), METHODS)

    assert changed.index("self.loss(x, y)") < changed.index("def loss(self, x, y)")
    compile(changed, "changed", "exec")
    assert [line for line in changed.split("\n") if line.startswith("    def ")] == [
        "    def __init__(self, model, optimizer):",
        "    def one(self, x, y):",
        "    def loss(self, x, y):",
    ]


def test_an_indented_method_may_stand_under_imports_at_the_margin():
    changed = run_of(fence(f"from math import inf\n\n{ONE}", "python"), METHODS)

    assert "self.loss(x, y)" in changed
    assert changed.index("from math import inf") < changed.index("class Loop")


def test_imports_that_a_diff_adds_above_a_method_go_to_the_top():
    diff = (
        "+from math import inf\n+\n     def one(self, x, y):\n-        self.optimizer.zero_grad()\n"
    )
    changed = run_of(fence(diff, "diff"), METHODS)

    assert changed.startswith("from math import inf\n")
    assert "zero_grad" not in changed


LOOP = """\
def main():
    model = make_model()
    for p in model.body.parameters():
        p.requires_grad = False
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for epoch in range(3):
        for x, y in loader:
            opt.zero_grad()
            loss_fn(model(x), y).backward()
            opt.step()
"""
SHOWN = """\
for epoch in range(3):
    if epoch == 1:
        for p in model.body.parameters():
            p.requires_grad = True
    for x, y in loader:
        opt.zero_grad()
        loss_fn(model(x), y).backward()
        opt.step()
"""


def test_a_loop_that_is_shown_anew_stands_below_what_the_posted_code_makes():
    changed = run_of(fence(SHOWN, "python"), LOOP)

    assert changed.startswith("def main():\n    model = make_model()\n")
    assert changed.count("for epoch in range(3):") == 1
    assert "        if epoch == 1:\n" in changed


def test_what_a_loop_needs_and_the_posted_code_has_is_changed_in_its_place():
    made = "opt = torch.optim.Adam(model.parameters())\n"
    changed = run_of(f"{fence(made, 'python')}\n\nand\n\n{fence(SHOWN, 'python')}", LOOP)

    assert "    opt = torch.optim.Adam(model.parameters())\n    for epoch" in changed
    assert "SGD" not in changed


def test_a_loop_beside_settings_without_a_place_is_taken_as_it_is_shown():
    made = (
        "for p in model.parameters():\n    p.requires_grad = True\nopt = make(model)\nprint(opt)\n"
    )
    changed = run_of(f"{fence(made, 'python')}\n\nand\n\n{fence(SHOWN, 'python')}", LOOP)

    assert "def main" not in changed


SCRIPTED = """\
model = make_model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad()
        loss_fn(model(x), y).backward()
        opt.step()
"""
BY_A_FUNCTION = """\
loader = make_loader(batch_size=256)

for epoch in range(3):
    for x, y in loader:
        loss = step_of(x.to(device), y)
    print(epoch, loss)
"""
STEP_OF = """\
def step_of(x, y):
    opt.zero_grad()
    loss_fn(model(x), y).backward()
    opt.step()
"""


def test_a_loop_whose_steps_went_into_a_function_is_known_by_the_loop_inside_it():
    posted = 'loader = make_loader(batch_size=32)\ndevice = "cpu"\n' + SCRIPTED
    answer = f"{fence(STEP_OF, 'python')}\n\nand the loop:\n\n{fence(BY_A_FUNCTION, 'python')}"
    changed = run_of(answer, posted)

    assert changed.startswith("def step_of(x, y):\n")
    assert "loader = make_loader(batch_size=256)\ndevice" in changed
    assert changed.count("for epoch in range(3):") == 1


FROZEN = """\
model.requires_grad_(False)
words = model.words.weight
words.requires_grad_(True)
opt = torch.optim.SGD([words], lr=0.1)
"""


def test_what_is_done_beside_a_setting_stands_with_it_and_a_loop_may_be_shown_as_it_was():
    loop = SCRIPTED.partition("lr=0.1)\n")[2]
    answer = f"{fence(FROZEN, 'python')}\n\nThe loop stays:\n\n{fence(loop, 'python')}"

    assert run_of(answer, SCRIPTED) == SCRIPTED.replace(
        "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n", FROZEN
    )


USES = """\
opt = Often(torch.optim.SGD(model.parameters(), lr=0.1), 2)
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    opt.step()
"""
OFTEN = """\
class Often:
    def __init__(self, optimizer, times):
        self.optimizer, self.times = optimizer, times

    def step(self):
        for _ in range(self.times):
            self.optimizer.step()
        self.optimizer.zero_grad()
"""


def test_what_the_file_uses_and_the_answer_defines_stands_above_it():
    assert run_of(fence(OFTEN, "python"), USES) == f"{OFTEN}\n{USES}"


def test_a_block_that_does_more_than_define_stands_alone():
    assert USES not in str(run_of(fence(f"{OFTEN}\nOften(optimizer, 2).step()\n", "python"), USES))
