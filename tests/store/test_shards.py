"""Shards that lie in one folder are read as the run that they are parts of."""

import json

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.domain.errors import UsageError
from harness.domain.stored import GradedAnswer
from harness.store import RunFolder, load_run
from tests.fakes.traces import probe, trace
from tests.report.sides import answer, head


def shard(folder, *keys: str, **changed: object) -> None:
    with RunFolder.create(folder, head(**{"kind": "grade", **changed})) as run:
        for number, key in enumerate(keys):
            stored = answer("right" if number else "wrong").model_copy(update={"key": key})
            run.add(GradedAnswer(stored, (trace(probe(f"probe-{key}")),)))


def test_the_answers_of_all_shards_are_those_of_one_run_with_their_traces(tmp_path):
    """In the order of the shards; a shard without an answer adds none."""
    shard(tmp_path / "1", "a", "b")
    shard(tmp_path / "2")
    shard(tmp_path / "3", "c")

    with load_run(tmp_path) as run, RunFolder.load(tmp_path / "3") as last:
        assert [one.key for one in run] == ["a", "b", "c"]
        assert (len(run), "c" in run, "d" in run) == (3, True, False)
        assert run.traces(run["c"]) == last.traces(last["c"]) != run.traces(run["a"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bank_digest": "another"}, "they differ in bank_digest"),
        ({"kind": "bank"}, "differ in kind"),
    ],
)
def test_what_was_made_differently_is_no_shard_of_it(tmp_path, changed, said):
    """Their answers would not be comparable."""
    shard(tmp_path / "1", "a")
    shard(tmp_path / "2", "b", **changed)

    with pytest.raises(UsageError, match=said):
        load_run(tmp_path)


def test_show_and_report_sum_the_shards_up(tmp_path):
    """One tally, one matrix."""
    shard(tmp_path / "runs" / "1", "a", "b")
    shard(tmp_path / "runs" / "2", "c")
    shown, report = (
        CliRunner().invoke(app, words)
        for words in (
            ["show", str(tmp_path / "runs"), "--plain"],
            ["report", str(tmp_path / "runs"), "--format", "json"],
        )
    )

    assert (shown.exit_code, report.exit_code) == (0, 0), shown.output + report.output
    assert "1 code right, 2 code wrong" in shown.stdout
    assert len(json.loads(report.stdout)["runs"]) == 1
