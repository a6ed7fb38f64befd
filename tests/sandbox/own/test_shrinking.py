"""Sizes that are lowered by name, and the windows that a program may have."""

import ast
from dataclasses import replace

import torch
from torch.utils.data import DataLoader, TensorDataset

from harness.domain.candidate import Candidate
from harness.domain.event import Start
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.sandbox.job import JobLimits
from harness.sandbox.own.patience import Patience
from harness.sandbox.own.shortening import Shortening, window_of
from harness.sandbox.own.shrinking import evaluate_soon, is_large, lowered, lowered_words, shrink

GPT = """
n_layer, n_head = 12, 12
n_embd = 768
config = dict(block_size=1024, vocab_size=50304)
gradient_accumulation_steps = 5 * 8
def build(depth=24, classes=1000): pass
parser.add_argument("-b", "--batch-size", default=256)
head = nn.Linear(768, 1000)
"""


def test_the_whole_batch_of_an_update_keeps_its_micro_batches():
    tree = ast.parse("effective_batch_size, batch_size = 512, 64")

    assert shrink(tree) == [
        "shrunk: effective_batch_size 512 -> 32",
        "shrunk: batch_size 64 -> 4",
    ]
    assert window_of(tree) == 8


def test_an_evaluation_that_comes_late_comes_soon():
    """What it leaves behind, as evaluation mode, is seen in the few updates of a run then."""
    tree = ast.parse("eval_interval, eval_iters, log_every = 2000, 200, 100")

    assert evaluate_soon(tree) == [
        "sooner: eval_interval 2000 -> 4",
        "sooner: eval_iters 200 -> 2",
    ]
    assert ast.unparse(tree) == "eval_interval, eval_iters, log_every = (4, 2, 100)"


def test_a_size_for_which_the_program_has_a_branch_of_its_own_is_kept():
    program = "image_size, width = 64, 64\nif image_size == 64:\n    steps = (1, 2, 3, 4)"
    tree = ast.parse(program)

    assert shrink(tree) == ["shrunk: width 64 -> 32"]


def test_sizes_are_lowered_by_their_names_and_told():
    tree = ast.parse(GPT)
    said = shrink(tree)
    text = ast.unparse(tree)

    assert "n_layer, n_head = (2, 2)" in text
    assert "dict(block_size=16, vocab_size=256)" in text
    assert "gradient_accumulation_steps = 4" in text
    assert "depth=24, classes=1000" in text  # residual networks count their layers by a formula
    assert "default=4" in text
    assert "shrunk: n_layer 12 -> 2" in said


def test_a_number_that_is_the_same_as_a_size_goes_with_it():
    tree = ast.parse(GPT)
    shrink(tree)

    assert "nn.Linear(32, 1000)" in ast.unparse(tree)


def test_sizes_of_settings_and_of_a_command_line_are_lowered_by_their_names():
    read = {"model": {"n_layer": 12, "dropout": 0.1}, "batch_size": 64, "sets": [{"img_size": 224}]}

    assert lowered(read) == {
        "model": {"n_layer": 2, "dropout": 0.1}, "batch_size": 4, "sets": [{"img_size": 32}],
    }  # fmt: skip
    assert lowered_words(["--n-layer", "12", "model.width=512", "--epochs", "50"]) == [
        "--n-layer", "2", "model.width=32", "--epochs", "50",
    ]  # fmt: skip


def test_batches_are_left_alone_where_settings_tell_the_whole_one_of_an_update():
    assert lowered({"total_batch_size": 512, "batch_size": 64}) == {
        "total_batch_size": 512, "batch_size": 64,
    }  # fmt: skip
    words = ["--batch-size", "64", "--effective-batch-size", "512"]
    assert lowered_words(words) == words


def test_small_programs_are_left_alone():
    assert not is_large("hidden = 16\nbatch_size = 4\n")
    assert is_large(GPT)
    assert is_large("hid_units = 512")
    assert is_large("config = {'channel': 128}")
    assert not is_large("channels = 3")


def test_how_many_batches_an_update_gathers_is_read_by_name():
    assert window_of(ast.parse("accumulation_steps = 8")) == 8
    assert window_of(ast.parse("p.add_argument('--grad-accum', type=int, default=4)")) == 4
    assert window_of(ast.parse("if (i + 1) % 4 == 0: pass")) == 4
    assert window_of(ast.parse("if i % 100 == 0: pass")) == 1


def test_whole_windows_are_kept_and_what_is_left_over():
    shortening = Shortening(ast.parse("accum = 4"), Patience(1))

    assert [shortening.batches(n) for n in (5, 100, 101, 103)] == [5, 16, 17, 19]


def test_windows_of_any_usual_size_are_whole_where_nothing_tells_their_size():
    shortening = Shortening(ast.parse(""), Patience(1))

    for size in (2, 3, 4, 6, 12):
        assert all(shortening.batches(n) % size == n % size for n in (40, 100, 1001))


def test_batches_of_a_program_that_is_too_large_are_small_whatever_names_their_size(monkeypatch):
    shortening = Shortening(ast.parse(""), Patience(1), shrunk=True)
    rows = TensorDataset(torch.zeros(64, 1))
    for name in ("__init__", "__iter__"):  # they come back
        monkeypatch.setattr(DataLoader, name, getattr(DataLoader, name))
    shortening.install()

    assert [DataLoader(rows, 32).batch_size, DataLoader(rows, batch_size=4).batch_size] == [8, 4]


def test_a_program_that_says_too_much_is_run_smaller(executor, monkeypatch):
    """As one that takes too long is."""
    program = """
import torch
hidden_size = 512
net = torch.nn.Sequential(torch.nn.Linear(4, hidden_size), torch.nn.Linear(hidden_size, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(20):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
    little = replace(JobLimits(), output_bytes=1 << 19)
    monkeypatch.setattr("harness.sandbox.executor.limits_of", lambda probe: little)
    candidate = Candidate(program=program, origin="test")
    probe = Probe(name="own", lifts="", own_data=True)

    found = executor.execute(candidate, WorkloadSpec(name="mlp", parameters={}), probe)

    assert found.problem is None
    (start,) = (e.event for e in found.ranks[0].events if isinstance(e.event, Start))
    assert start.notes == ("shrunk: hidden_size 512 -> 32",)


def test_a_branch_that_evaluates_comes_soon_and_one_that_steps_stays_as_it_is():
    loop = "if i % 50 == 0:\n    {}\n"

    def soon(body):
        tree = ast.parse(loop.format(body))
        return evaluate_soon(tree), "% 4" in ast.unparse(tree)

    assert soon("loss = validate(model)") == (["sooner: every 50 turns -> 4"], True)
    assert soon("validate(model); optimizer.step()") == ([], False)
    assert soon("values.append(i)") == ([], False)


def test_the_clock_ends_a_program_by_what_it_had_of_a_processor(monkeypatch):
    """Or each busy machine would end another part of the programs."""
    wall, own = [0.0], [0.0]
    monkeypatch.setattr("harness.sandbox.own.patience._clock", lambda: wall[0])
    monkeypatch.setattr("harness.sandbox.own.patience._used", lambda: own[0])
    patience = Patience(1)
    patience.updates = 3

    wall[0] = 10.0
    waited = patience.is_over
    own[0] = 6.0
    worked = patience.is_over
    own[0], wall[0] = 0.0, 30.0

    assert (waited, worked, patience.is_over) == (False, True, True)


def test_a_run_that_only_compares_is_ended_after_half_the_time(monkeypatch):
    own = [0.0]
    monkeypatch.setattr("harness.sandbox.own.patience._used", lambda: own[0])
    first, other = Patience(1), Patience(1, again=True)
    first.updates = other.updates = 3

    own[0] = 3.0

    assert (first.is_over, other.is_over) == (False, True)
