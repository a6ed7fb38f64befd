"""Branches that a run leaves out: which are told, and which a later moment of training comes to."""

import ast
import math
import traceback
from dataclasses import dataclass

import pytest

from harness.sandbox.binding.branches.marks import marked
from harness.sandbox.binding.branches.untaken import untaken


class Quiet:
    """Stands for a model, an optimizer, a loss: it takes every call, and is small."""

    def __getattr__(self, _):
        return self

    def __call__(self, *_, **__):
        return self

    def __iter__(self):
        return iter([self])

    def __truediv__(self, _):
        return self

    def __gt__(self, _):
        return False

    def __lt__(self, _):
        return self


@dataclass(frozen=True)
class Left:
    """What a run left out."""

    told: list[tuple[int, int, tuple[str, ...]]]
    waits: bool


def left_by(program: str) -> Left:
    """Run a program on 2 passes over 5 batches."""
    names = ("model", "optimizer", "criterion", "clip_grad_norm_", "save", "scheduler", "scaler")
    loader = [(Quiet(), Quiet())] * 5
    given = {**{name: Quiet() for name in names}, "loader": loader, "isfinite": lambda _: True}
    found = marked(ast.parse(program))
    exec(found.compiled("<candidate>"), given)
    left = untaken(found)
    told = [(b.first, b.last, b.touches) for b in left if b.reached and b.written]
    return Left(told, any(b.waits and b.reached for b in left))


def loop(body: str, *, before: str = "", after: str = "") -> str:
    """A right loop with something between the backward and the step."""

    def indented(text: str) -> str:
        return "".join(f"        {line}\n" for line in text.splitlines())

    return (
        f"max_norm, step = 1.0, 0\n{before}\nfor epoch in range(2):\n"
        "    for i, (x, y) in enumerate(loader):\n        optimizer.zero_grad()\n"
        f"        loss = criterion(model(x), y)\n        loss.backward()\n{indented(body)}"
        f"        optimizer.step()\n        step += 1\n{indented(after)}"
    )


CLIP = "clip_grad_norm_(model.parameters(), max_norm)"

LATER = {
    "threshold": f"if step > 1000:\n    max_norm = 1e9\n{CLIP}",
    "turned": f"if not 1000 >= step:\n    max_norm = 1e9\n{CLIP}",
    "early-epochs-only": f"if epoch < 3:\n    {CLIP}",
    "else-that-does-nothing": f"if step < 500:\n    {CLIP}\nelse:\n    pass",
    "now-and-then": f"{CLIP}\nif step % 500 == 499:\n    step += 1\n    continue",
    "choice": "clip_grad_norm_(model.parameters(), 1.0 if epoch < 5 else 1e9)",
    "looked-up": "clip_grad_norm_(model.parameters(), [1.0, 1e9][step > 1000])",
    "calculated": "late = int(step > 1000)\nclip_grad_norm_(model.parameters(), 1.0 + 1e9 * late)",
    "drifting": "clip_grad_norm_(model.parameters(), 1.0 + 10.0 * (step // 1000))",
    "flag": f"late = step // 100 > 20\nif not late:\n    {CLIP}",
    "short-circuit": f"step < 1000 and {CLIP}",
    "with-data": f"if step > 1000 and loss < 5:\n    max_norm = 1e9\n{CLIP}",
    "case": f"match step:\n    case 1000:\n        max_norm = 1e9\n{CLIP}",
    "turns": f"{CLIP}\nfor _ in range(step // 1000):\n    model.weight.grad.mul_(1e9)",
    "with-a-tensor": "if i < 600 and model < 9:\n    for p in model.parameters():\n        p.grad.mul_(0.5)",
    "by-hand": "if i < 600:\n    for p in model.parameters():\n        p.grad.mul_(0.5)",
    "index": f"if i not in (100, 200):\n    {CLIP}",
}


@pytest.mark.parametrize("body", LATER.values(), ids=LATER)
def test_training_that_changes_its_clipping_at_a_count_nobody_reaches_is_waited_for(body):
    assert left_by(loop(body)).waits


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("LATE = 5000", f"if step > LATE:\n    max_norm = 1e9\n{CLIP}"),
        ("state = {'late': 300}", f"if step > state['late']:\n    max_norm = 1e9\n{CLIP}"),
        ("seen = []", f"seen.append(0)\nif len(seen) > 500:\n    max_norm = 1e9\n{CLIP}"),
        ("left = 1000", f"left -= 1\nif left > 0:\n    {CLIP}"),
        ("import itertools\nticks = itertools.count()", f"if next(ticks) < 900:\n    {CLIP}"),
        (
            "def limit(now):\n    if now > 1000:\n        return 1e9\n    return 1.0",
            "clip_grad_norm_(model.parameters(), limit(step))",
        ),
        (f"def clip(n):\n    if n > 1000:\n        return\n    {CLIP}", "clip(step)"),
        ("import time\nbegun = time.time()", f"if time.time() - begun < 3600:\n    {CLIP}"),
    ],
)
def test_a_count_is_followed_through_names_functions_lists_and_clocks(before, body):
    assert left_by(loop(body, before=before)).waits


AT = "LIMITS = {0: 1.0, 100: 50.0}"


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (AT, f"max_norm = LIMITS.get(step, max_norm)\n{CLIP}"),
        (AT, f"max_norm = LIMITS[max(k for k in LIMITS if k <= step)]\n{CLIP}"),
        (
            f"class A: pass\nrun = A()\nrun.{AT}\ndef limit(now):\n    return run.LIMITS.get(now, 1.0)",
            "clip_grad_norm_(model.parameters(), max_norm=limit(step))",
        ),
        (
            "from bisect import bisect\nBOUNDS = [100]\nLIMITS = [1.0, 50.0]",
            "clip_grad_norm_(model.parameters(), max_norm=LIMITS[bisect(BOUNDS, step)])",
        ),
        (
            "PLAN = [(0, 1.0), (100, 50.0)]",
            f"max_norm = [limit for start, limit in PLAN if step >= start][-1]\n{CLIP}",
        ),
        (
            "PLAN = [(100, 50.0), (0, 1.0)]",
            f"max_norm = next(limit for start, limit in PLAN if step >= start)\n{CLIP}",
        ),
    ],
)
def test_what_a_count_has_not_come_to_in_a_table_is_waited_for(before, body):
    assert left_by(loop(body, before=before)).waits


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("LIMITS = {0: 2.0, 4: 1.0}", f"max_norm = LIMITS.get(step, max_norm)\n{CLIP}"),
        ("LIMITS = {0: 1.0, 1: 5.0}\nkind = 0", f"max_norm = LIMITS[kind]\n{CLIP}"),
        ("LIMITS = [1.0, 5.0]", f"max_norm = LIMITS[0]\n{CLIP}"),
        ("RATES = {0: 0.1, 100: 0.01}", f"rate = RATES.get(step, 0.1)\n{CLIP}"),
        ("LIMITS = {0: 1.0, 100: 1.0}", f"max_norm = LIMITS.get(step, 1.0)\n{CLIP}"),
    ],
)
def test_a_table_that_was_read_through_or_in_no_order_waits_for_nothing(before, body):
    assert not left_by(loop(body, before=before)).waits


def test_the_middle_of_a_list_that_has_grown_waits_for_nothing():
    """A count that was divided and is above 0 stays so, unless it is what is left."""
    middle = (
        "norms = []\nfor x, y in loader:\n    loss = criterion(model(x), y)\n    loss.backward()\n"
        "    norms.append(3.0)\nmax_norm = sorted(norms)[len(norms) // 2]"
    )
    assert not left_by(loop(CLIP, before=middle)).waits
    falls = "left -= 1\nclip_grad_norm_(model.parameters(), 1.0 + (left // 500) * 0.001)"
    assert left_by(loop(falls, before="left = 1000")).waits


RIGHT = {
    "within-reach": f"if step < 3:\n    max_norm = 1.0\n{CLIP}",
    "not-finite": f"if not isfinite(loss):\n    optimizer.zero_grad()\n    continue\n{CLIP}",
    "spike-after-a-while": f"if step > 3 and loss > 5:\n    optimizer.zero_grad()\n    continue\n{CLIP}",
    "decaying-within-reach": "clip_grad_norm_(model.parameters(), max_norm * 0.9 ** (step // 4))",
    "option": f"if max_norm is None:\n    pass\nelse:\n    {CLIP}",
    "scaler": f"if scaler is None:\n    optimizer.zero_grad()\n{CLIP}",
    "resumed": f"if step < 0:\n    continue\n{CLIP}",
}

AFTER = {
    "the-end": "if step >= 100000:\n    break",
    "saved": "if step % 500 == 0:\n    save(model)",
    "rate": "if step == 500:\n    for group in optimizer.param_groups:\n        group['lr'] = 0.1",
    "schedule": "if epoch > 20:\n    scheduler.step()",
    "unfrozen": "if epoch == 10:\n    for p in model.parameters():\n        p.requires_grad = True",
    "mean-of-weights": "if step > 1000:\n    for a, b in zip(model.mean(), model.parameters()):\n        a.add_(b)",
    "measured": "if step % 100 == 99:\n    norm = clip_grad_norm_(model.parameters(), float('inf'))",
    "leftover": "held = step % 1\nif held > 0:\n    optimizer.step()",
}


@pytest.mark.parametrize(
    "program",
    [*map(loop, RIGHT.values()), *(loop(CLIP, after=text) for text in AFTER.values())],
    ids=[*RIGHT, *AFTER],
)
def test_options_data_rates_and_the_end_wait_for_nothing(program):
    assert not left_by(program).waits


def test_a_window_that_was_flushed_already_waits_for_nothing():
    flush = "held = 0\ndef flush():\n    global held\n    if held == 0:\n        return\n    optimizer.step()\n"
    turns = (
        "for x, y in loader:\n    criterion(model(x), y).backward()\n    held += 1\n    flush()\n"
    )

    assert not left_by(flush + turns).waits


@pytest.mark.parametrize("asked", ["(i + 1) % 2", "(i + 1) % 2 != 0", "not (i + 1) % 2 == 0"])
def test_the_flush_of_a_leftover_that_every_pass_has_waits_for_nothing(asked):
    turns = "max_norm = 1.0\nfor i, (x, y) in enumerate(loader):\n    criterion(model(x), y).backward()\n"
    window = "    if (i + 1) % 2 == 0:\n        optimizer.step()\n"

    assert not left_by(f"{turns}{window}if {asked}:\n    optimizer.step()").waits
    assert left_by(f"{turns}{window}    if (i + 1) % 200:\n        {CLIP}").waits


def test_a_branch_is_told_by_its_lines_and_what_it_touches():
    program = loop(f"if loss > 5:\n    optimizer.zero_grad()\n    continue\n{CLIP}")

    assert left_by(program).told == [(9, 10, ("zero_grad", "continue"))]


@pytest.mark.parametrize(
    "body",
    [
        "if loss > 5:\n    print(loss)",
        "if loss > 5:\n    save(model)",
        "if step < 3:\n    step += 0",
    ],
)
def test_a_branch_that_touches_no_training_is_not_told(body):
    assert left_by(loop(f"{body}\n{CLIP}")).told == []


def test_a_function_that_is_never_called_is_not_told():
    assert left_by(loop(CLIP, before=f"def f(late):\n    if late:\n        {CLIP}")).told == []


def test_of_branches_inside_of_each_other_the_outer_one_is_told():
    body = f"if loss > 5:\n    if loss > 6:\n        optimizer.zero_grad()\n{CLIP}"

    assert left_by(loop(body)).told == [(9, 10, ("zero_grad",))]


def test_a_mark_changes_no_name_no_line_and_no_value():
    program = (
        'def f(n):\n    "About f."\n    if n > 1 and n < 4:\n        return 1 / (n - 3)\n'
        "    return 5 if n else 'none'\n"
    )
    given: dict = {}
    tree = ast.parse(program)
    exec(marked(tree).compiled("<candidate>"), given)

    assert [name for name in given if name != "__builtins__"] == ["f"]
    assert given["f"].__doc__ == "About f."
    assert (given["f"](2), given["f"](0), given["f"](9)) == (-1.0, "none", 5)
    with pytest.raises(ZeroDivisionError) as raised:
        given["f"](3)
    assert traceback.extract_tb(raised.tb)[-1].lineno == 4


def test_a_value_that_is_no_plain_number_is_not_asked_for_its_truth():
    class Tensor:
        def __bool__(self):
            raise AssertionError("a synchronisation that the program did not ask for")

        def __lt__(self, other):
            return self

    given = {"value": Tensor(), "math": math}
    program = "late = value < 3\nkept = [late][0]"

    exec(marked(ast.parse(program)).compiled("<candidate>"), given)
    assert given["kept"] is given["value"]
