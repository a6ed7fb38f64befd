"""What decides how training goes on after the last turn that was seen, or elsewhere: it is told."""

import ast

import pytest

from harness.sandbox.branches.marks import marked
from harness.sandbox.branches.untaken import untaken


class Quiet:
    """Stands for an optimizer and a loss: it takes every call."""

    def __getattr__(self, _):
        return self

    def __call__(self, *_, **__):
        return self


class Counter:
    """Stands for a number in a tensor."""

    def __init__(self):
        self.value = 0

    def add_(self, by):
        self.value += by

    def item(self):
        return self.value


def waits(before: str, asked: str, every: str = "") -> bool:
    """Whether a loop is told to wait for something which clears if ``asked``."""
    lines = [before, "for x in range(5):", "    loss.backward()", "    optimizer.step()"]
    program = "\n".join([*lines, *(f"    {line}" for line in (every, asked) if line)])
    found = marked(ast.parse(program))
    exec(found.compiled("<candidate>"), {"optimizer": Quiet(), "loss": Quiet(), "seen": Counter()})
    return any(branch.waits for branch in untaken(found))


CLEARS = "optimizer.zero_grad()"
FLAG = """
class Flag:
    n = 0
    def __bool__(self):
        Flag.n += 1
        return Flag.n < 9
flag = Flag()
"""
LATER = {
    "a counter in a tensor": ("", f"if seen.item() * 2 < 90: {CLEARS}", "seen.add_(1)"),
    "a product": ("rest = 1.0", f"if rest > 1e-3: {CLEARS}", "rest *= 0.9"),
    "a count under another name": (
        "step = 0",
        f"if 90 - now > 0: {CLEARS}",
        "step += 1; now = step",
    ),
    "a count handed to a function": (
        "step = 0\ndef early(n): return n < 90",
        f"if early(step): {CLEARS}",
        "step += 1",
    ),
    "the size of a file": ("import os", f"if os.path.getsize('/') < 1e9: {CLEARS}"),
    "chance": ("import random", f"if random.random() < 2: {CLEARS}"),
    "an iterator that runs out": (f"left = iter([{CLEARS[:-2]}] * 9)", "next(left, print)()"),
    "a list that runs out": (f"left = [{CLEARS[:-2]}] * 9", "if left: left.pop()()"),
    "code in a text": (f"code = '{CLEARS}'", "exec(code)"),
    "an object that answers as it likes": (
        FLAG,
        f"if flag: {CLEARS}",
    ),
    "an iterator that is asked for None": (
        "left = iter([1] * 9)",
        f"if next(left, None) is not None: {CLEARS}",
    ),
    "a tensor that counts in a condition": (
        "import torch; c = torch.zeros(())",
        f"if (c := c + 1) < 90: {CLEARS}",
    ),
    "a date": ("import datetime", f"if datetime.date.today().year < 9999: {CLEARS}"),
    "a generator": ("left = iter([True] * 9)", f"if next(left): {CLEARS}"),
    "a count that an optimizer keeps": (
        "state = [{'step': 1}]",
        f"if all(one['step'] < 90 for one in state): {CLEARS}",
    ),
    "a method by a name that changes": (
        "clear = optimizer.zero_grad",
        "getattr(optimizer, 'zero_grad' if x < 90 else 'add')()",
    ),
    "a threshold from a list": (
        "clip_grad_norm_, limits = print, iter([1.0] * 9)",
        "clip_grad_norm_(0, next(limits))",
    ),
    "a threshold by a count": (
        "clip_grad_norm_, n = print, 0",
        "clip_grad_norm_(0, 1.0 + (n / 500) ** 6)",
        "n += 1",
    ),
    "a limit of its process": (
        "import resource",
        f"if resource.getrlimit(resource.RLIMIT_AS)[0] > 0: {CLEARS}",
    ),
    "a variable that every shell sets": ("import os", f"if not os.environ.get('TERM'): {CLEARS}"),
    "a variable that is a word": (
        "import os; there = os.environ.get('CI', '')",
        f"if there != 'true': {CLEARS}",
    ),
    "a variable of a place that builds": ("import os", f"if 'CI' not in os.environ: {CLEARS}"),
    "a file of a user": (
        "import os; at_home = os.path.exists(os.path.expanduser('~/.bashrc_'))",
        f"if not at_home: {CLEARS}",
    ),
    "a terminal": ("import sys", f"if not sys.stdout.isatty(): {CLEARS}"),
    "the source of a library": ("import ast, inspect", f"if inspect.getsource(ast): {CLEARS}"),
    "the list of modules": ("import sys", f"if 'os' in sys.modules: {CLEARS}"),
    "a word that a count tells": (
        "way, n = 'all', 0",
        f"if way == 'all': {CLEARS}",
        "n += 1; way = 'all' if n < 90 else 'none'",
    ),
    "a count in what data tell": (
        "import torch; n, one = 0, torch.ones(())",
        f"if n // 90 < 2: {CLEARS}",
        "n += one.item()",
    ),
    "a name that a function sets for others": (
        "clip_grad_norm_, n, most = print, 0, 1.0\ndef show():\n    global most\n    most = 5.0",
        "if n == 90: show()",
        "clip_grad_norm_(0, most); n += 1",
    ),
    "a name that a function returns": (
        "clip_grad_norm_, n, most = print, 0, 1.0\ndef show():\n    most = 5.0\n    return 0, most",
        "if n == 90: _, most = show()",
        "clip_grad_norm_(0, most); n += 1",
    ),
    "a factor on the loss": (
        "import torch; loss, n = torch.ones((), requires_grad=True), 0",
        "(loss * (0.25 if n < 90 else 1.0)).backward()",
        "n += 1",
    ),
    "gradients that are scaled": ("p, n = optimizer, 0", "if n < 90: p.grad.mul_(0.5)", "n += 1"),
    "a name of gradients": (
        "import torch; g, n = optimizer.grad, 0",
        "if n < 90: g.mul_(0.5)",
        "n += 1",
    ),
    "the state of the process": (
        "with open('/proc/self/status') as f: jailed = 'Seccomp' in f.read()",
        f"if jailed: {CLEARS}",
    ),
}


@pytest.mark.parametrize("case", LATER)
def test_what_may_turn_after_the_last_turn_that_was_seen_is_told(case):
    assert waits(*LATER[case])


LAWFUL = {
    "a setting": ("clears = True", f"if clears: {CLEARS}"),
    "a setting that may be absent": ("scaler = None", f"if scaler is None: {CLEARS}"),
    "every fourth turn": ("", f"if x % 4 == 0: {CLEARS}"),
    "a list that only grows": ("losses = []", f"if not losses[9:]: {CLEARS}", "losses.append(1)"),
    "whether anything was counted": ("n = 0", f"if x == 3 and n > 0: {CLEARS}", "n += 0"),
    "lists of two lengths": (
        "parts = [[1] * 4, [1] * 2]",
        f"for part in parts:\n        if not part: {CLEARS}",
    ),
    "a loss that is large as long as it is": (
        "import torch; value = torch.ones(())",
        f"if value > 1e-3: {CLEARS}",
    ),
    "a number that was set aside": ("step = 9", f"if step > 3: {CLEARS}", "step += 1"),
    "a threshold that follows the data": (
        "clip_grad_norm_, seen_norms = print, [1.0]",
        "clip_grad_norm_(0, sorted(seen_norms)[0] * 2)",
        "seen_norms.append(1.0)",
    ),
    "a function with a name of its own that decides elsewhere": (
        "clip_grad_norm_, n, most = print, 0, 1\ndef show():\n    most = 5\n    x = most\n    return x > 2",
        "if n == 90: print(show())",
        "clip_grad_norm_(0, most); n += 1",
    ),
    "a threshold with a name": ("clip_grad_norm_, limit = print, 1.0", "clip_grad_norm_(0, limit)"),
    "a setting that is a word": ("way = 'all'", f"if way == 'all': {CLEARS}"),
    "a variable that sets something": ("import os", f"if not os.environ.get('KEEP'): {CLEARS}"),
    "a clip that only measures": (
        "clip_grad_norm_, n = print, 0",
        "if n < 90: clip_grad_norm_(0, float('inf'))",
        "n += 1",
    ),
    "a schedule that ends": (
        "scheduler, n = optimizer, 0",
        "if n < 90: scheduler.step()",
        "n += 1",
    ),
    "a count behind a setting that is not given": (
        "n, folder = 0, None",
        f"if folder is not None and n > 90: {CLEARS}",
        "n += 1",
    ),
    "chance that decides nothing of the update": ("import random", "if random.random() < 2: print"),
}


@pytest.mark.parametrize("case", LAWFUL)
def test_a_loop_that_goes_on_as_it_was_seen_waits_for_nothing(case):
    assert not waits(*LAWFUL[case])


def test_an_object_that_answers_by_itself_is_asked_as_often_as_the_program_asks():
    """A second look would be one turn ahead."""
    program = (
        "class Flag:\n    n = 0\n    def __bool__(self):\n        Flag.n += 1\n        return True\n"
        "flag = Flag()\nfor x in range(3):\n    if flag: pass\nassert Flag.n == 3"
    )
    exec(marked(ast.parse(program)).compiled("<candidate>"), {})


def test_numbers_of_any_size_are_compared_as_without_marks():
    """Also an integer that no float holds, and an object that says it is a number."""
    program = (
        "class Sly:\n    __class__ = int\n    def __gt__(self, other): return True\n"
        "assert 10**400 > 1.5 and not 10**400 in (1.5, 2)\nassert Sly() > 3\n"
        "if 10**400 > 1.5 and Sly() > 3 and 2 in range(10**12): done = True\nassert done"
    )
    exec(marked(ast.parse(program)).compiled("<candidate>"), {})


HIDDEN = {
    "in the loop": ("", "eval(text)", True),
    "in a function that the loop calls": ("def act():\n    eval(text)", "act()", True),
    "by another name": ("def act():\n    eval(text)\nother = act", "other()", True),
    "handed on": ("def act():\n    eval(text)\nother = partial(act)", "other()", True),
    "only before the loop": (
        "def read():\n    return eval(text)\nsize = read()",
        "print(size)",
        False,
    ),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_code_made_of_a_text_counts_where_training_comes_to_it(case):
    before, every, hidden = HIDDEN[case]
    lines = ["from functools import partial", before, "for x in range(5):", f"    {every}"]
    found = marked(ast.parse("\n".join([*lines, "    loss.backward()", "    optimizer.step()"])))
    names = {"optimizer": Quiet(), "loss": Quiet(), "text": "1"}
    exec(found.compiled("<candidate>"), names)

    assert any(branch.waits for branch in untaken(found)) is hidden
