"""``harness report`` and ``harness view``."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.serving import HERE, serving
from harness.domain.errors import UsageError
from harness.domain.stored import GradedAnswer, StoredAnswer
from harness.store import RunFolder
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import as_in_a_terminal
from tests.report.sides import answer, head
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[2]


def stored(folder: Path, *answers: StoredAnswer, **changed: object) -> Path:
    with RunFolder.create(folder, head(**changed)) as run:
        for one in answers:
            run.add(GradedAnswer(one))
    return folder


def report(*arguments: object):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_a_run_becomes_a_file_of_its_own(tmp_path):
    """Its size is said where it does not disturb a pipe."""
    run = stored(tmp_path / "run", answer("wrong"))

    done = report(run, "-o", tmp_path / "report.html")

    assert done.exit_code == 0
    assert done.stdout == ""
    assert "report.html is written" in done.stderr
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_a_short_file_is_not_said_to_be_empty(tmp_path):
    """Sizes are rounded up."""
    run = stored(tmp_path / "run", answer("right"))

    done = report(run, "--format", "markdown", "-o", tmp_path / "report.md")

    assert done.stderr.endswith("report.md is written, 1 kB\n")


@pytest.mark.parametrize("form", sampled(["html", "junit", "markdown", "json"], 1))
def test_every_form_goes_to_standard_output_where_no_file_is_named(tmp_path, form):
    """One run, and two."""
    old, new = stored(tmp_path / "old", answer("wrong")), stored(tmp_path / "new", answer("right"))

    assert "toy" in report(old, "--format", form).stdout
    assert "new" in report(old, new, "--format", form).stdout


def test_a_bank_against_itself_shows_its_loops_beside_its_fixes(tmp_path):
    """Nothing is compared: they are meant to differ."""
    loop = answer("wrong").model_copy(update={"agent": "buggy"})
    fix = answer("right").model_copy(update={"agent": "reference"})
    run = stored(tmp_path / "run", loop, fix, kind="bank", agent=None, skill=None)

    found = json.loads(report(run, "--format", "json").stdout)

    assert [side["name"] for side in found["runs"]] == ["buggy", "reference"]
    assert [side["tally"]["right"] for side in found["runs"]] == [0, 1]
    assert found["comparison"] is None


def test_two_runs_of_one_name_are_told_apart(tmp_path):
    """By their paths."""
    old, new = stored(tmp_path / "a/run", answer()), stored(tmp_path / "b/run", answer())

    found = json.loads(report(old, new, "--format", "json").stdout)

    assert [side["name"] for side in found["runs"]] == [str(old), str(new)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["missing"], "expected a stored run"),
        (["a", "b", "c"], "report shows one run or two side by side, not 3"),
    ],
)
def test_what_cannot_be_shown_gets_one_sentence(given, sentence):
    """And exit code 2."""
    done = report(*given)

    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def address(tmp_path):
    stored(tmp_path / "first", answer("wrong"))
    stored(tmp_path / "deeper" / "second", answer("right"))
    stored(tmp_path / "broken").joinpath("run.json").write_text("{}")
    old = tmp_path / "first" / "answers.jsonl"
    os.utime(old, (1e9, 1e9))
    with serving(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield HERE, server.server_port
        server.shutdown()


def get(address: tuple[str, int], path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(*address)
    connection.request("GET", path, headers=headers)
    answered = connection.getresponse()
    found = answered.status, answered.read().decode()
    connection.close()
    return found


def test_runs_are_listed_newest_first(address):
    """Those that cannot be read say why."""
    status, page = get(address, "/")

    assert status == 200
    assert page.index("deeper/second") < page.index("/run?name=first")
    assert "this version cannot read it" in page


def test_looking_at_a_run_does_not_make_it_newer(address):
    """The order stays what it was."""
    assert get(address, "/run?name=first")[0] == 200
    assert get(address, "/compare?old=first&new=deeper%2Fsecond")[0] == 200

    page = get(address, "/")[1]
    assert page.index("deeper/second") < page.index("/run?name=first")


@pytest.mark.parametrize(
    "path", ["/run?name=../first", "/run?name=/etc", "/run", "/etc/passwd", "/compare?old=first"]
)
def test_only_runs_of_the_folder_are_shown(address, path):
    """Whatever the address says."""
    assert get(address, path)[0] == 404


def test_a_page_elsewhere_cannot_read_the_runs(address):
    """Its name may lead to this machine; the browser still says whose name it is."""
    status, page = get(address, "/", Host="evil.example")

    assert status == 403
    assert "deeper" not in page


def test_a_port_that_is_taken_gets_one_sentence(tmp_path, address):
    """With the option that helps."""
    with pytest.raises(UsageError, match="choose another with --port"):
        serving(tmp_path, address[1])


def test_ctrl_c_ends_it_cleanly(tmp_path):
    """That is how one leaves it: no traceback, and nothing is wrong."""
    command = [sys.executable, "-m", "harness", "view", str(tmp_path), "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_in_a_terminal,  # noqa: PLW1509 - no other thread of a test is under way
    ) as running:
        try:
            address = running.stdout.readline()
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()

    assert "http://127.0.0.1:" in address
    assert running.returncode == 0
    assert errors == "harness: ended\n"
