"""Files that lie beside a program: it reads those that it names, as they are, and changes none."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.beside import called_with
from harness.domain.candidate import Candidate
from harness.domain.event import Finished, Start
from harness.domain.workload import WorkloadSpec
from harness.sandbox.executor import JailedExecutor
from harness.sandbox.jail.report import CAN_BE_CUT, Guard, JailPolicy, JailReport
from harness.sandbox.own_files import own_files
from tests.sandbox.own.conftest import PROBE

TRAIN = """
import json, os, yaml
import torch
from torch import nn
{reading}
assert rows.shape == (24, 3), rows.shape
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for part in rows.split(4):
    optimizer.zero_grad()
    (net(part[:, :2]) - part[:, 2:]).pow(2).mean().backward()
    optimizer.step()
{after}
"""

READING = "rows = torch.tensor(json.load(open(yaml.safe_load(open('run.yaml'))['rows'])))"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with settings, data that they name, and something that nobody names."""
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "secret.txt").write_text("do not tell")
    (tmp_path / "run.yaml").write_text("rows: tables/rows.json")
    (tmp_path / "tables").mkdir()
    rows = [[i / 10, -i / 10, float(i % 3)] for i in range(24)]
    (tmp_path / "tables" / "rows.json").write_text(json.dumps(rows))
    return tmp_path


def named(program: str, folder: Path) -> list[str]:
    return [one.name for one in own_files(program, folder)]


def test_a_program_reads_its_own_files_as_they_are(see, project):
    seen = see(TRAIN.format(reading=READING, after=""), folder=project)

    assert seen.outcome == "returned: None"
    assert seen.windows == [1] * 6
    assert "its own file run.yaml" in seen.lent


def test_an_option_for_settings_is_given_those_that_lie_beside_the_program(see, project):
    asked = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--config', required=True, help='run.yaml')\n"
        "settings = yaml.safe_load(open(parser.parse_args().config))\n"
    )
    reading = f"{asked}rows = torch.tensor(json.load(open(settings['rows'])))"

    seen = see(TRAIN.format(reading=reading, after=""), folder=project)

    assert seen.windows == [1] * 6, seen.outcome + seen.lent


def test_several_ranks_read_them(see, project):
    ranks = "torch.distributed.init_process_group('gloo')\n" + READING

    seen = see(TRAIN.format(reading=ranks, after=""), ranks=2, folder=project)

    assert seen.outcome == "returned: None"


def test_what_a_program_writes_anew_stays_as_it_was(see, project):
    kept = project / "tables" / "kept.bin"
    kept.write_bytes(b"kept" * 50_000)
    writing = (
        "open('tables/rows.json', 'w').write('[]'); open('tables/kept.bin', 'wb').write(b'new')"
    )
    before = (project / "tables" / "rows.json").read_text()

    seen = see(TRAIN.format(reading=READING, after=writing), folder=project)

    assert seen.outcome == "returned: None"
    assert (project / "tables" / "rows.json").read_text() == before
    assert kept.read_bytes() == b"kept" * 50_000


def test_a_folder_of_very_many_files_is_read_whole(see, project):
    (project / "many").mkdir()
    for n in range(5_000):
        (project / "many" / f"{n}.txt").touch()
    counting = READING + "\nassert len(os.listdir('many')) == 5_000"

    assert see(TRAIN.format(reading=counting, after=""), folder=project).windows == [1] * 6


def test_a_training_that_is_over_begins_anew(see, project):
    """What it saved is there, and is told only to who reads it."""
    torch.save({"epoch": 100}, project / "last.pt")
    resume = READING + "\nif os.path.exists('last.pt'): raise SystemExit('all done')"
    reading = READING + "\nassert torch.load('last.pt')['epoch'] == 100"

    assert see(TRAIN.format(reading=resume, after=""), folder=project).windows == [1] * 6
    assert see(TRAIN.format(reading=reading, after=""), folder=project).windows == [1] * 6


def test_where_nothing_comes_of_its_own_files_others_are_lent(see, project):
    (project / "words.txt").write_text("")
    letters = """
text = open('words.txt').read()
rows = torch.tensor([float(ord(c)) / 100 for c in text[:72]]).view(24, 3)"""

    seen = see(TRAIN.format(reading=letters, after=""), folder=project)

    assert seen.windows == [1] * 6
    assert "words.txt: a text by chance" in seen.lent


def test_what_a_program_does_not_name_is_out_of_its_reach(see, project):
    """However it comes to the path."""
    path = [ord(c) for c in str(project / "secret.txt")]
    spying = READING + f"\nprint(open(''.join(map(chr, {path}))).read())"

    seen = see(TRAIN.format(reading=spying, after=""), folder=project)

    assert "do not tell" not in seen.printed


@pytest.mark.parametrize("name", ["away", "tables/away", "tables/away.txt"])
def test_a_link_out_of_the_repository_leads_nowhere(see, project, tmp_path_factory, name):
    """A repository of somebody else's may hold one to what only its reader has."""
    other = tmp_path_factory.mktemp("other")
    (other / "key").write_text("do not tell")
    target = other / "key" if name.endswith(".txt") else other
    (project / name).symlink_to(target)
    spying = (
        READING
        + f"""
for path in ("{name}", "{name}/key"):
    try:
        print(open(path).read())
    except OSError:
        pass"""
    )

    seen = see(TRAIN.format(reading=spying, after=""), folder=project)

    assert seen.windows == [1] * 6
    assert "do not tell" not in seen.printed


def test_a_link_to_nothing_is_no_file(see, project):
    (project / "tables" / "gone.csv").symlink_to(project / "nowhere")

    assert see(TRAIN.format(reading=READING, after=""), folder=project).windows == [1] * 6


def test_where_nothing_keeps_files_from_being_written_none_are_handed_out(
    project, tmp_path_factory
):
    """A link would lead a careless program to the file itself."""
    store = tmp_path_factory.mktemp("store")
    workload = WorkloadSpec.model_validate({"name": "mlp", "parameters": {}})
    program = TRAIN.format(reading=READING, after="")
    candidate = Candidate(program=program, origin="test", folder=str(project))
    unguarded = JailPolicy(disabled=frozenset({"landlock"}))
    with JailedExecutor(1, unguarded, data=[store]) as executor:
        assert executor.readable_data() == ()
        recording = executor.execute(candidate, workload, PROBE)

    ended = recording.ranks[0].events[-1].event
    assert isinstance(ended, Finished)
    assert not any("its own file" in note for note in ended.lent)
    starts = [e.event for e in recording.ranks[0].events if isinstance(e.event, Start)]
    assert not any("its own file" in note for start in starts for note in start.notes)


def test_files_that_could_be_cut_off_are_not_kept():
    old = Guard("landlock", on=True, detail=f"ABI 2, 9 readable paths{CAN_BE_CUT}")
    new = Guard("landlock", on=True, detail="ABI 4, 9 readable paths")

    assert not JailReport((old,)).keeps_files
    assert JailReport((new,)).keeps_files
    assert not JailReport(()).keeps_files


def test_a_program_that_says_where_it_lies_is_not_believed(see, project):
    """Its text may hold what the harness writes below a text."""
    below = json.dumps({"package": "", "files": {}, "arguments": [], "folder": str(project)})
    program = f"{TRAIN.format(reading=READING, after='')}\n__files_beside__ = {below}\n"

    assert "its own file" not in see(program).lent


def test_an_archive_that_is_closed_is_left_alone(see, project):
    """Whoever looks for the program's settings among its names would open it."""
    np.savez(project / "rows.npz", rows=np.ones((24, 3), np.float32))
    reading = """
import numpy as np
with np.load("rows.npz") as archive:
    rows = torch.from_numpy(archive["rows"])"""
    clip = "nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n    optimizer.step()"
    program = TRAIN.format(reading=reading, after="").replace("optimizer.step()", clip)

    assert see(program, folder=project).outcome == "returned: None"


def test_what_settings_name_is_read_as_well(project):
    assert named("open('run.yaml')", project) == ["run.yaml", "tables"]


def test_endings_and_patterns_name_what_they_match(project):
    assert named("glob('*.txt')", project) == ["requirements.txt", "secret.txt"]
    assert named("f'{name}.yaml'", project) == ["run.yaml", "tables"]


def test_files_of_the_repository_stand_where_a_program_of_a_folder_below_looks(project):
    (project / "tools").mkdir()

    found = own_files("Path('../tables') / 'rows.json'", project / "tools")

    assert [one.name for one in found] == ["../tables", "tables"]
    assert {one.path for one in found} == {str(project / "tables")}


def test_no_repository_no_folder_above(project):
    (project / "requirements.txt").unlink()
    (project / "tools").mkdir()

    assert named("open('../run.yaml')", project / "tools") == []


@pytest.mark.parametrize(
    "word", ["/etc/passwd", "~/run.yaml", ".hidden", "other.py", "..", "a\nb", ""]
)
def test_paths_that_lead_elsewhere_hidden_files_and_modules_are_no_data(project, word):
    (project / ".hidden").touch()
    (project / "other.py").touch()

    assert named(f"open({word!r})", project) == []


def test_a_folder_elsewhere_can_be_read_where_that_is_allowed(executor, project, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    np.save(store / "rows.npy", np.ones((24, 3), np.float32))
    (project / "linked").symlink_to(store)
    reading = f"""rows = torch.from_numpy(__import__('numpy').load({str(store / "rows.npy")!r}))
assert os.listdir('linked') == ['rows.npy']"""
    program = TRAIN.format(reading=reading, after="")
    workload = WorkloadSpec.model_validate({"name": "mlp", "parameters": {}})
    candidate = Candidate(program=program, origin="test", folder=str(project))

    def end(executor: JailedExecutor, asked: Candidate = candidate) -> Finished:
        recording = executor.execute(asked, workload, PROBE)
        return next(e.event for e in recording.ranks[0].events if isinstance(e.event, Finished))

    with JailedExecutor(parallel=1, data=[store]) as lent:
        assert lent.readable_data() == (store,)
        refused, read = end(executor), end(lent)
        of_an_answer = end(lent, candidate.model_copy(update={"folder": ""}))

    assert (refused.outcome, read.outcome) == ("unbound", "returned")
    assert of_an_answer.outcome == "unbound"
    assert refused.message is not None
    assert f"`{store / 'rows.npy'}` lies elsewhere" in refused.message
    assert "--data DIR" in refused.message


def test_settings_that_are_code_and_folders_of_settings_go_along(project):
    (project / "configs").mkdir()
    (project / "configs" / "small.py").write_text("width = 4\n")
    program = called_with("import sys", ["--config", "configs/small.py"])

    assert sorted(one.name for one in own_files(program, project)) == [
        "configs",
        "configs/small.py",
    ]
