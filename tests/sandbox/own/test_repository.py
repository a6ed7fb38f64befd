"""Programs with files of their own: each stays a module, and is run where it is imported."""

import harness
from harness.beside import CompanionFile, PackedProgram

TRAIN = """
from __future__ import annotations
import argparse
import torch
from pack import loops
from pack.net import build

parser = argparse.ArgumentParser()
parser.add_argument("--net", required=True)
args = parser.parse_args()
net = build(args)
loops.fit(net, torch.optim.SGD(net.parameters(), lr=0.01))
"""

NET = """
from __future__ import annotations
from torch import nn
from torch._six import inf
import os
import numpy as np

columns = os.popen("stty size", "r").read().split()[1]

def build(args):
    if args.net == "linear":
        return nn.Linear(4, 1)
    raise SystemExit("the network name is not supported")
"""

LOOPS = """
import torch
from . import net

def fit(model, optimizer):
    assert net.inf > 0
    for step in range(8):
        model(torch.randn(8, 4)).pow(2).mean().backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
"""

FILES = {
    "pack": CompanionFile("pack/__init__.py", ""),
    "pack.net": CompanionFile("pack/net.py", NET),
    "pack.loops": CompanionFile("pack/loops.py", LOOPS),
}


def test_files_of_a_repository_are_modules_with_imports_of_their_own(see):
    seen = see(PackedProgram(TRAIN, FILES).text)

    assert seen.outcome == "returned: None"
    assert seen.windows == [2, 2, 2, 2]


def test_a_required_word_is_one_that_some_file_compares_it_with(see):
    seen = see(PackedProgram(TRAIN, FILES).text)

    assert "net = 'linear': a required argument" in seen.lent


def test_what_the_command_line_says_is_not_lent(see):
    seen = see(PackedProgram(TRAIN, FILES, arguments=("--net", "conv")).text)

    assert "required argument" not in seen.lent


def test_what_a_file_lacks_is_named_with_the_file_that_lacks_it(see):
    lacking = {
        **FILES,
        "pack.net": CompanionFile("pack/net.py", NET + "import flashy\nflashy.go()\n"),
    }

    seen = see(PackedProgram(TRAIN, lacking).text)

    assert seen.outcome == "unbound: `flashy.go` needs flashy, which is not here"


SCHEDULED = """
import torch
from pack import loops

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
loops.fit(net, optimizer, schedule)
"""

ONCE_IN_A_HUNDRED = """
import torch

def fit(model, optimizer, schedule):
    for step in range(8):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
        if step % 100 == 99:
            schedule.step()
"""


def test_a_schedule_that_a_file_beside_it_may_step_is_not_blamed(warm):
    files = {
        "pack": CompanionFile("pack/__init__.py", ""),
        "pack.loops": CompanionFile("pack/loops.py", ONCE_IN_A_HUNDRED),
    }
    with harness.Grader(jobs=1, open_instruments=warm) as grader:
        assert grader.grade(PackedProgram(SCHEDULED, files).text).code == "right"


def test_a_package_may_look_through_its_own_folder(see):
    program = """
import os
import torch
import pack
from pack import net

assert sorted(os.listdir(os.path.dirname(pack.__file__))) == ["__init__.py", "net.py"]
net.fit(torch.nn.Linear(4, 1))
"""
    fit = """
import torch

def fit(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
    files = {
        "pack": CompanionFile("pack/__init__.py", ""),
        "pack.net": CompanionFile("pack/net.py", fit),
    }
    seen = see(PackedProgram(program, files).text)

    assert (seen.outcome, seen.windows) == ("returned: None", [1] * 4)
