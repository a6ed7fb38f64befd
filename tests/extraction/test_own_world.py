"""Which programs bring their own world."""

import pytest

from harness.beside import CompanionFile, PackedProgram
from harness.extraction.own_world import free_names, is_own_world, without_imports_of


def beside_loops(code: str, loops: str) -> str:
    """A program beside ``loops.py``."""
    return PackedProgram(code, {"loops": CompanionFile("loops.py", loops)}).text


OWN = {
    "at module level": "import torch\nx = torch.ones(1, requires_grad=True)\nx.sum().backward()\n",
    "under its main guard": (
        "import torch\ndef main():\n    torch.ones(1, requires_grad=True).sum().backward()\n"
        "if __name__ == '__main__':\n    main()\n"
    ),
    "in a method of an object that it makes": (
        "class Runner:\n    def __init__(self, loss): self.loss = loss\n"
        "    def run(self): self.loss.backward()\n"
        "import torch\nRunner(torch.ones(1, requires_grad=True).sum()).run()\n"
    ),
    "in a command of a group": (
        "import click\n@click.group()\ndef cli(): pass\n@cli.command()\ndef train(loss=None):\n"
        "    loss.backward()\ncli()\n"
    ),
    "handed to what starts ranks": (
        "import torch.multiprocessing as mp\ndef work(rank, loss):\n    loss.backward()\n"
        "mp.spawn(work, nprocs=2)\n"
    ),
    "by a function of another file under a name of its own": beside_loops(
        "from loops import train_vanilla as train\ntrain()\n",
        "def train_vanilla(loss):\n    loss.backward()\n",
    ),
    "by a trainer": "from transformers import Trainer\nTrainer().train()\n",
    "by functions of torch.func": "from torch.func import grad, vmap\nvmap(grad(abs))(1.0)\n",
}

OTHER = {
    "a name that nobody binds": "for x in loader:\n    x.sum().backward()\n",
    "a name that only a function reads": "def main():\n    model().backward()\nmain()\n",
    "a function that nobody calls": "def train(loss):\n    loss.backward()\n",
    "no training at all": "import torch\nprint(torch.ones(1))\n",
    "no Python": "for x in",
}


@pytest.mark.parametrize("case", OWN)
def test_a_program_that_names_nothing_of_others_and_trains_is_its_own_world(case):
    assert is_own_world(OWN[case])


@pytest.mark.parametrize("case", OTHER)
def test_anything_else_is_none(case):
    assert not is_own_world(OTHER[case])


def test_names_that_a_program_declares_global_are_its_own():
    assert free_names("def f():\n    global step\n    step = 1\nprint(step, other)\n") == {"other"}


def test_what_is_imported_by_a_star_may_be_any_name():
    assert free_names("from torch.nn import *\nLinear(1, 1)\n") == frozenset()


def test_the_step_of_a_module_that_is_not_shown_is_none():
    step = "def training_step(self, batch, batch_idx):\n    return self(batch).sum()\n"
    assert not is_own_world(step, at_rest=True)
    assert is_own_world(step.replace("training_step", "evaluate"), at_rest=True)
    assert is_own_world(step.replace("self", "model"), at_rest=True)


def test_names_of_a_package_are_left_to_the_reader_in_their_lines():
    program = "import os\nfrom lab.data import (\n    make,\n)\nx = make()\n"
    assert without_imports_of(program, "lab") == "import os\npass\n\n\nx = make()\n"
