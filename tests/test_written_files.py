"""What a command was told to write: whole or not at all."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.app import write_file
from harness.domain.errors import UsageError
from tests.fakes.bank import FakeBank
from tests.fakes.disk import no_file_longer_than

LONG = "new\n" * 1000


@pytest.mark.parametrize("older", ["an older report\n", None], ids=["older", "new"])
def test_a_full_disk_leaves_what_was_there(tmp_path, older):
    """An older report was cut to what the disk had room for."""
    file = tmp_path / "report.html"
    if older is not None:
        file.write_text(older)

    with no_file_longer_than(100), pytest.raises(UsageError) as refused:
        write_file(file, LONG)

    assert str(refused.value) == f"{file}: cannot be written: File too large"
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == ({} if older is None else {"report.html": older})


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    file, link = tmp_path / "report.html", tmp_path / "latest"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file.name)

    write_file(link, LONG)

    assert link.is_symlink()
    assert file.read_text() == LONG
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_any_other(tmp_path):
    (tmp_path / "other").touch()

    write_file(tmp_path / "report.html", LONG)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    """``-o /dev/stdout``, or a named pipe: nothing may come in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_file(pipe, "new\n")

    assert os.read(reader, 100) == b"new\n"
    os.close(reader)
    assert pipe.is_fifo()


TO_STDOUT = """
from pathlib import Path
from harness.cli.app import write_file
write_file(Path("/dev/stdout"), "new\\n")
print("after")
"""


def test_a_file_that_a_shell_put_behind_a_stream_stays_there(tmp_path):
    """What is printed next would be lost with the older file."""
    file = tmp_path / "all.txt"
    with file.open("a") as stdout:
        subprocess.run([sys.executable, "-c", TO_STDOUT], stdout=stdout, check=True)

    assert file.read_text() == "new\nafter\n"


@pytest.mark.parametrize("name", ["nowhere/report.html", "folder", "x" * 300])
def test_where_nothing_can_be_written_it_is_one_sentence(tmp_path, name):
    (tmp_path / "folder").mkdir()

    with pytest.raises(UsageError, match=r": cannot be written: [A-Z][a-z ]+$") as refused:
        write_file(tmp_path / name, LONG)

    assert str(refused.value).startswith(str(tmp_path / name))
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_name_as_long_as_a_name_may_be_can_be_written(tmp_path):
    """The file beside it has a name of its own."""
    file = tmp_path / ("x" * 255)

    write_file(file, LONG)

    assert file.read_text() == LONG
    assert list(Path(tmp_path).iterdir()) == [file]


def test_ctrl_c_leaves_an_older_matrix_as_it_was(tmp_path):
    """It was written over with what had been finished, which may be nothing."""

    def interrupt(_jobs):
        raise KeyboardInterrupt

    bank, matrix = FakeBank(tmp_path).add("alpha"), tmp_path / "matrix.md"
    matrix.write_text("older")
    command = ["quality", "--bank", str(bank.folder), "--matrix", str(matrix)]

    result = CliRunner().invoke(app, command, obj=interrupt)

    assert result.exit_code == 130
    assert result.stderr.endswith(f"only what was finished is shown; {matrix} stays as it was\n")
    assert matrix.read_text() == "older"
