"""What the language and its library call in a program's name: contexts, iterators, threads."""

import pytest

TAKEN = "    optimizer.zero_grad()\n    criterion(model(x), y).backward()\n    optimizer.step()\n"
CONTEXT = """
class Update:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def __enter__(self):
        self.optimizer.zero_grad()
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.optimizer.step()
        return False

"""
UPDATE = "loss = criterion(model(x), y)\n        loss.backward()\n"
ENTERED = {
    "in the loop": f"for x, y in train_loader:\n    with Update(optimizer):\n        {UPDATE}",
    "made before it": f"update = Update(optimizer)\nfor x, y in train_loader:\n    with update as u:\n        {UPDATE}",
    "by a stack": (
        "import contextlib\nfor x, y in train_loader:\n    with contextlib.ExitStack() as stack:\n"
        f"        u = stack.enter_context(Update(optimizer))\n        {UPDATE}"
    ),
}


@pytest.mark.parametrize("loop", ENTERED.values(), ids=ENTERED)
def test_what_with_calls_is_not_called_once_more(run, loop):
    ran = run(CONTEXT + loop)

    assert (ran.outcome, ran.steps, ran.calls) == ("ran", 14, [])


@pytest.mark.parametrize("how", ["in", "by hand"])
def test_what_a_class_yields_is_what_its_loader_yields(run, how):
    start, step = "self.rest = iter(self.source)", "return next(self.rest)"
    body = f"{start}\n        return self\n    def __next__(self):\n        {step}"
    body = "for batch in self.source:\n            yield batch" if how == "in" else body
    ran = run(
        "class Batches:\n    def __init__(self, source):\n        self.source = source\n"
        f"    def __iter__(self):\n        {body}\n\nfor x, y in Batches(train_loader):\n{TAKEN}"
    )

    assert (ran.outcome, ran.steps, ran.batches) == ("ran", 14, {"train": 14})


PRODUCER = """
import queue, threading
from concurrent.futures import ThreadPoolExecutor
batches = queue.Queue()

def produce(source, out):
    for batch in source:
        out.put(batch)
    out.put(None)

"""
HANDED = {
    "a thread": "threading.Thread(target=produce, args=(train_loader, batches), daemon=True).start()\n",
    "a thread, by name": "threading.Thread(None, produce, kwargs={'source': train_loader, 'out': batches}).start()\n",
    "an executor": "ThreadPoolExecutor(1).submit(produce, train_loader, batches)\n",
}


@pytest.mark.parametrize("hand", HANDED.values(), ids=HANDED)
def test_what_another_thread_is_given_is_what_its_function_takes(run, hand):
    """The loader was taken for a switch, the thread died, and the program waited for it."""
    ran = run(f"{PRODUCER}{hand}for x, y in iter(lambda: batches.get(timeout=60), None):\n{TAKEN}")

    assert (ran.outcome, ran.steps, ran.batches) == ("ran", 14, {"train": 14})


def test_what_a_future_returns_is_what_its_function_returned(run):
    ran = run(
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
        "def fetch(source):\n    return list(source)\n"
        f"for x, y in pool.submit(fetch, train_loader).result():\n{TAKEN}"
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)


@pytest.mark.parametrize("whose", ["model", "copy.deepcopy(model)"])
def test_a_method_of_the_model_that_predicts_is_its_forward(run, whose):
    ran = run(
        f"import copy\nnet = {whose}\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "before = [p.detach().clone() for p in net.parameters()]\nfor x, y in train_loader:\n"
        "    opt.zero_grad()\n    criterion(net.predict(x), y).backward()\n    opt.step()\n"
        "result = all(not torch.equal(a, b) for a, b in zip(before, net.parameters()))\n"
    )

    assert (ran.outcome, ran.steps, ran.result) == ("ran", 14, "True")
