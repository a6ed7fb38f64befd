"""Loops that come to their steps through objects which keep functions and call them later."""

import ast

import pytest

from harness.extraction.loops import doing

STEPS = """
def accumulate(x, y):
    (criterion(model(x), y) / 4).backward()
def update():
    optimizer.step()
    optimizer.zero_grad()
"""

DECORATED = """
@{on}("batch")
def accumulate(x, y):
    (criterion(model(x), y) / 4).backward()
@{on}("window")
def update():
    optimizer.step()
    optimizer.zero_grad()
"""

REGISTRY = """
HANDLERS = defaultdict(list)
def on(name):
    def register(function):
        HANDLERS[name].append(function)
        return function
    return register
def emit(name, *given):
    for function in HANDLERS[name]:
        function(*given)
"""

LOOP = """
for i, (x, y) in enumerate(loader, start=1):
    {emit}("batch", x, y)
    if i % 4 == 0:
        {emit}("window")
"""


@pytest.mark.parametrize(
    "program",
    [
        "events = Events()" + DECORATED.format(on="events.on") + LOOP.format(emit="events.emit"),
        REGISTRY + DECORATED.format(on="on") + LOOP.format(emit="emit"),
        "bus = Bus()"
        + STEPS
        + "bus.on('batch', accumulate)\nbus.on('window', update)\n"
        + LOOP.format(emit="bus.emit"),
        "steps = {}" + STEPS + "steps['batch'] = accumulate\nsteps['window'] = update\n"
        "for x, y in loader:\n    steps['batch'](x, y)\n    steps['window']()\n",
    ],
    ids=["a bus that decorates", "a registry of its own", "a method", "a table"],
)
def test_a_loop_that_calls_kept_functions_is_a_whole_one(program):
    """It was taken for a few lines, and the posted loop ran after it: a right loop called wrong."""
    assert doing(ast.parse(program)).whole


@pytest.mark.parametrize("named", ["plan[i % 4]", "'update'"])
def test_a_loop_that_calls_methods_by_a_name_is_a_whole_one(named):
    """The posted loop ran after it, too, and synchronised every micro-batch."""
    trainer = "class Engine:\n    def update(self, x, y):\n        criterion(model(x), y).backward()\n        optimizer.step()\n"
    loop = f"trainer = Engine()\nfor i, (x, y) in enumerate(loader):\n    getattr(trainer, {named})(x, y)\n"

    assert doing(ast.parse(trainer + loop)).whole
    assert not doing(ast.parse(trainer + loop.replace(named, "'name'"))).whole
