"""`harness grade train.py`: a program without a scenario, judged by its own settings in the jail."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.properties.own.lacking import define
from tests.sampling import sampled

LOOP = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(24):
    x = torch.randn(8, 20)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / 4
    loss.backward()
    if (step + 1) % 4 == 0:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimizer.step()
        optimizer.zero_grad()
"""
FAULTS = {
    "accumulation-equals-large-batch": (" / 4", ""),
    "accumulation-not-wiped": ("    loss.backward()", "    model.zero_grad()\n    loss.backward()"),
    "clip-once-per-update": (
        "    if (step",
        "    nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)\n    if (step",
    ),
    "gradients-start-fresh": ("        optimizer.zero_grad()\n", ""),
}


def written(folder: Path, name: str, code: str) -> Path:
    (folder / name).write_text(code)
    return folder / name


def test_a_right_script_is_right_and_its_settings_are_told(graded, tmp_path):
    code, (line,) = graded(written(tmp_path, "train.py", LOOP))

    assert (code, line["code"], line["scenario"]) == (0, "right", "own-settings")
    settings = line["settings"]
    assert (settings["micro_batches"], settings["optimizer"]) == (4, "AdamW")
    clip = {"kind": "norm", "lowest": 0.5, "highest": 0.5, "asked_whole": False}
    assert settings["clip"] == clip
    assert line["lent"] == []


@pytest.mark.parametrize("fault", sampled(FAULTS, 2))
def test_a_fault_is_named_though_nobody_said_what_was_asked_for(graded, tmp_path, fault):
    code, (line,) = graded(written(tmp_path, "train.py", LOOP.replace(*FAULTS[fault])))

    assert (code, line["code"]) == (1, "wrong"), line
    assert fault in line["failed"]


def test_what_its_author_means_is_shown_with_the_reason_and_flips_nothing(graded, tmp_path):
    """The sum is not divided on purpose; everything else still has to hold."""
    script = written(tmp_path, "train.py", LOOP.replace(*FAULTS["accumulation-equals-large-batch"]))

    code, (line,) = graded(script, "--allow", "accumulation-equals-large-batch=a sum is meant")

    assert (code, line["code"]) == (0, "right")
    assert "accumulation-equals-large-batch" in line["advisory"]


def test_parameters_that_are_meant_to_rest_are_allowed_to(graded, tmp_path):
    rest = "spare = torch.nn.Linear(2, 2)\n"
    made = LOOP.replace("model.parameters()", "[*model.parameters(), *spare.parameters()]", 1)
    script = written(tmp_path, "train.py", made.replace("optimizer =", f"{rest}optimizer =", 1))

    assert graded(script)[1][0]["code"] == "inconclusive"
    assert graded(script, "--allow", "every-parameter-learns=a spare")[1][0]["code"] == "right"


def test_what_is_inconclusive_is_exit_code_4_only_under_strict(graded, tmp_path):
    script = written(tmp_path, "train.py", "import torch\nx = torch.ones(3)\n")

    assert graded(script)[0] == 0
    code, (line,) = graded(script, "--strict")
    assert (code, line["code"], len(line["why"])) == (4, "inconclusive", 1)


def test_files_that_import_each_other_are_one_program(graded, tmp_path):
    """Each file that trains is a program; what it imports is part of it, and nothing else is told."""
    head, loop = LOOP.split("optimizer =")
    written(tmp_path, "net.py", head)
    files = [
        written(
            tmp_path, "train.py", f"import torch\nfrom net import model, nn\noptimizer ={loop}"
        ),
        written(tmp_path, "other.py", LOOP),
        written(tmp_path, "notes.py", "VERSION = 1\n"),
    ]

    in_folder, by_name = graded(tmp_path)[1], graded(*files[:2], tmp_path / "net.py")[1]

    for lines in (in_folder, by_name):
        assert {line["file"] for line in lines} == {str(file) for file in files[:2]}
        assert {line["code"] for line in lines} == {"right"}


@pytest.mark.parametrize(
    ("name", "advice"),
    [("inf", "define `inf`: `from torch import inf`"), ("helper", "define `helper`")],
)
def test_a_name_that_nothing_defines_is_the_one_thing_to_add(name, advice):
    assert define(name) == advice


def test_what_a_folder_of_programs_holds_beside_them_is_said_in_one_line(warm, tmp_path):
    """Who hands in a folder reads of files that were not graded as well."""
    written(tmp_path, "train.py", LOOP)
    written(tmp_path, "notes.md", "# notes")
    written(tmp_path, "sizes.py", "WIDTH = 3")

    result = CliRunner().invoke(app, ["grade", str(tmp_path)], obj=warm)

    (line,) = [line for line in result.output.splitlines() if "left out" in line]
    assert "left out: 2 (Python files in which nothing trains, files beside programs" in line


def test_an_empty_file_and_an_empty_folder_are_said_to_be_empty(warm, tmp_path):
    """Neither is a program that forgot to train; an empty file may be one of a package."""
    (tmp_path / "empty.py").touch()
    (tmp_path / "folder").mkdir()

    file = CliRunner().invoke(app, ["grade", str(tmp_path / "empty.py")], obj=warm)
    folder = CliRunner().invoke(app, ["grade", str(tmp_path / "folder")], obj=warm)

    assert (file.exit_code, folder.exit_code) == (0, 2)
    assert "It is empty; add the loop that trains." in file.output
    assert "it holds no Python file and no answer" in folder.output


def test_what_is_no_python_is_said_with_its_line(graded, tmp_path):
    script = written(tmp_path, "train.py", "import torch\nfor x in data\n    pass\n")

    (line,) = graded(script)[1]

    assert line["why"] == ["line 2: it is not valid Python (expected ':'); repair that."]


def test_an_answer_is_graded_in_the_file_that_it_changes(graded, tmp_path):
    script = written(tmp_path, "train.py", LOOP.replace("        optimizer.zero_grad()\n", ""))
    step = "         optimizer.step()\n"
    diff = f"--- a/train.py\n+++ b/train.py\n@@ -9,9 +9 @@\n{step}+        optimizer.zero_grad()\n"
    patch = written(tmp_path, "fix.patch", diff)

    code, (line,) = graded(patch, "--against", script)

    assert (code, line["code"]) == (0, "right"), line


@pytest.mark.parametrize("file", ["missing.py", "notes.md"])
def test_what_is_no_python_file_is_refused_in_one_sentence(warm, tmp_path, file):
    written(tmp_path, "notes.md", "No code at all.\n")
    answer = written(tmp_path, "answer.md", "```diff\n-a\n+b\n```\n")

    command = ["grade", str(answer), "--against", str(tmp_path / file)]
    result = CliRunner().invoke(app, command, obj=warm)

    assert result.exit_code == 2
    assert "expected a Python file" in result.stderr
    assert "Traceback" not in result.output


GAN = """\
import torch
from torch import nn

torch.manual_seed(0)
made, judge = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss()
of_made = torch.optim.SGD(made.parameters(), lr=0.05)
of_judge = torch.optim.SGD(judge.parameters(), lr=0.05)
for _ in range(20):
    judge.zero_grad()
    criterion(judge(torch.randn(16, 2) + 2), torch.ones(16, 1)).backward()
    fake = made(torch.randn(16, 4))
    criterion(judge(fake.detach()), torch.zeros(16, 1)).backward()
    of_judge.step()
    made.zero_grad()
    criterion(judge(fake), torch.ones(16, 1)).backward()
    of_made.step()
"""

RANKS = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def run(rank, size):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    own = torch.Generator().manual_seed(rank)
    for _ in range(12):
        x = torch.randn(16, 8, generator=own)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= size
        optimizer.step()


if __name__ == "__main__":
    started = [mp.Process(target=run, args=(rank, 2)) for rank in range(2)]
    for process in started:
        process.start()
    for process in started:
        process.join()
"""

MOMENTUM = """\
import copy
import torch
from torch import nn

torch.manual_seed(0)
query = nn.Linear(8, 4)
key = copy.deepcopy(query).requires_grad_(False)
optimizer = torch.optim.SGD(query.parameters(), lr=0.1)
for _ in range(12):
    x = torch.randn(16, 8)
    with torch.no_grad():
        for old, new in zip(key.parameters(), query.parameters()):
            old.mul_(0.9).add_(new, alpha=0.1)
        target = key(x + 0.1)
    optimizer.zero_grad()
    (query(x) - target).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            GAN, id="two-losses-of-a-discriminator-are-parts-of-one", marks=pytest.mark.full
        ),
        pytest.param(RANKS, id="ranks-may-be-started-as-processes"),
        pytest.param(
            MOMENTUM,
            id="an-average-of-another-network-is-no-second-training",
            marks=pytest.mark.full,
        ),
    ],
)
def test_an_ordinary_script_is_right(graded, program, tmp_path):
    """Each was called wrong, or was inconclusive, in a set of scripts that nobody here wrote."""
    file = tmp_path / "train.py"
    file.write_text(program)

    code, told = graded(file)

    assert (code, told[0]["code"]) == (0, "right"), told[0]["why"]


@pytest.mark.parametrize("lost", sampled(["p.grad /= size", "dist.all_reduce(p.grad)"], 1))
def test_ranks_have_to_agree_on_the_mean_of_their_gradients(graded, tmp_path, lost):
    """The same script without its all-reduce, and without its division."""
    file = tmp_path / "train.py"
    file.write_text(RANKS.replace(lost, "pass"))

    assert graded(file)[1][0]["failed"] == ["ranks-agree"]


def test_a_micro_batch_that_is_cleared_away_is_missed_though_ranks_average_each(graded, tmp_path):
    """Each backward of a wrapped model is on record as the ranks averaged it: the same on all."""
    layers = "nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))"
    wrapped = RANKS.replace("nn.Linear(8, 1)", f"nn.parallel.DistributedDataParallel({layers})")
    alone = wrapped[: wrapped.index("        for p in model")] + "        if turn % 4 == 3:\n    "
    text = alone + "        optimizer.step()\n" + wrapped[wrapped.index("\n\nif __name__") :]
    file = tmp_path / "train.py"
    file.write_text(text.replace("for _ in range(12)", "for turn in range(24)"))

    assert graded(file)[1][0]["failed"] == ["accumulation-not-wiped"]


@pytest.mark.full
def test_batch_norm_over_ranks_needs_no_gpu(graded, tmp_path):
    layers = (
        "nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 1)))"
    )
    script = written(tmp_path, "train.py", RANKS.replace("nn.Linear(8, 1)", layers))

    code, (line,) = graded(script)

    assert (code, line["code"]) == (0, "right"), line["why"]


@pytest.mark.full
def test_ranks_that_an_option_brings_are_not_there_without_it(graded, tmp_path):
    """Alone it is right; two copies of it would have rows of their own and agree on nothing."""
    option = "    if size > 8:\n        dist.init_process_group('gloo')\n    torch.manual_seed(0)"
    alone = (
        RANKS.replace(
            '    dist.init_process_group("gloo", rank=rank, world_size=size)\n    torch.manual_seed(0)',
            option,
        )
        .replace("dist.all_reduce(p.grad)", "pass")
        .replace("p.grad /= size", "pass")
    )
    script = written(tmp_path, "train.py", alone)

    code, (line,) = graded(script)

    assert (code, line["code"], line["settings"]["ranks"]) == (0, "right", 1), line["why"]


LENT = {
    "a teacher beside its student": """
teacher.eval().requires_grad_(False)
for x, y in loader:
    with torch.no_grad():
        soft = teacher(x).softmax(-1)
    scores = student(x)
    loss = F.cross_entropy(scores, y) + F.kl_div(scores.log_softmax(-1), soft, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "rows as wide as the first layer": """
model = nn.Sequential(nn.Linear(100, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    "pictures of three channels": """
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("what", sampled(LENT, 1))
def test_what_is_lent_fits_the_program(graded, tmp_path, what):
    code = f"import torch\nfrom torch import nn\nimport torch.nn.functional as F\n{LENT[what]}"
    _, (line,) = graded(written(tmp_path, "answer.py", code))

    assert line["code"] == "right", line["why"]


SCALED = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cuda")
for _ in range(12):
    x = torch.randn(16, 8)
    optimizer.zero_grad()
    scaler.scale(nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))).backward()
    scaler.unscale_(optimizer)
    if not torch.isfinite(nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
        {skip}
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(("skip", "found"), sampled([("continue", "wrong"), ("pass", "right")], 1))
def test_a_batch_is_skipped_by_the_scaler_and_not_around_it(graded, tmp_path, skip, found):
    _, (line,) = graded(written(tmp_path, "train.py", SCALED.format(skip=skip)))
    assert line["code"] == found, line["why"]


SKIPS = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    x = torch.randn(8, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if not torch.isfinite(norm):
        {clear}
        continue
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("clear", "found"), [("pass", "wrong"), ("optimizer.zero_grad()", "right")]
)
def test_gradients_of_a_batch_that_is_skipped_are_cleared(graded, tmp_path, clear, found):
    """Else every gradient after it is NaN as well. It shows where one batch is not finite."""
    _, (line,) = graded(written(tmp_path, "train.py", SKIPS.format(clear=clear)))

    assert line["code"] == found, line


def test_a_name_alone_trains_nothing_and_is_not_right(graded, tmp_path):
    """All of its training was lent to it, and that was right."""
    code, (line,) = graded(written(tmp_path, "one.py", "b\n"))

    assert (code, line["code"]) == (0, "inconclusive")


def test_a_program_of_many_levels_is_one_sentence_and_no_fault(warm, tmp_path):
    """A sum of 700 terms ended as a fault of the harness, on the way to its sizes."""
    file = written(tmp_path, "train.py", f"{LOOP}total = {' + '.join(['1'] * 700)}\n")

    result = CliRunner().invoke(app, ["grade", str(file)], obj=warm)

    assert result.exit_code == 0
    assert "nested more than 250 levels deep" in result.output
