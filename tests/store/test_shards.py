"""Shards that lie in one folder are read as the run that they are parts of."""

import json

import pytest
from typer.testing import CliRunner

import harness
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
        ({"shard": "2/3"}, "differ in shard"),
    ],
)
def test_what_was_made_differently_is_no_shard_of_it(tmp_path, changed, said):
    """Their answers would not be comparable."""
    shard(tmp_path / "1", "a", shard="1/2")
    shard(tmp_path / "2", "b", **{"shard": "2/2", **changed})

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


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["1/3", "3/3"], "shards 2 of 3 present, missing 2"),
        (["2/2", "1/2"], None),
        (["1,2/3", "3/3"], None),
        (["1/9"], "shards 1 of 9 present, missing 2, 3, 4, 5, 6, 7 and 2 more"),
        ([None, None], None),
    ],
)
def test_a_shard_that_is_not_there_is_known_by_what_the_others_say(tmp_path, parts, said):
    """Runs of older versions say nothing."""
    for number, part in enumerate(parts):
        shard(tmp_path / str(number), str(number), shard=part)

    with load_run(tmp_path) as run:
        assert run.head.shards_missing == said


def test_a_sum_over_some_of_the_shards_says_so(tmp_path):
    """On standard error, and in what is written."""
    shard(tmp_path / "runs" / "1", "a", shard="1/3")
    shard(tmp_path / "runs" / "3", "b", shard="3/3")
    said = "shards 2 of 3 present, missing 2"
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "runs")])
    report = CliRunner().invoke(app, ["report", str(tmp_path / "runs"), "--format", "json"])

    assert f"{said}; only what is there is shown" in " ".join(shown.stderr.split())
    assert json.loads(report.stdout)["notes"][-1] == f"runs: {said}"


def test_a_comparison_with_some_of_the_shards_says_so(tmp_path):
    """From Python, on the command line and on a page: once each."""
    shard(tmp_path / "some" / "1", "a", shard="1/3")
    shard(tmp_path / "whole", "a")
    said = "of some shards 1 of 3 present, missing 2, 3"
    places = [str(tmp_path / "some"), str(tmp_path / "whole")]
    compared = CliRunner().invoke(app, ["compare", *places])
    report = json.loads(CliRunner().invoke(app, ["report", *places, "--format", "json"]).stdout)

    assert said in harness.compare(*places).warnings
    assert " ".join((compared.stdout + compared.stderr).split()).count(said) == 1
    assert report["comparison"]["warnings"].count(said) == 1


def test_a_second_shard_does_not_go_into_the_folder_of_the_first(tmp_path):
    """Its run would say that it holds one part."""
    shard(tmp_path / "1", "a", shard="1/2")

    with pytest.raises(UsageError, match="made with shard = '1/2', not '2/2'"):
        shard(tmp_path / "1", "b", shard="2/2")
