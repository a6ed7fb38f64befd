"""`harness cache`: what is kept of asked agents, and how it goes."""

import json
import os
import time

import pytest
from typer.testing import CliRunner

from harness.agents.batching import BatchUnderWay, Journal
from harness.agents.cache import Cache, default_cache
from harness.cli import app
from harness.domain.model import NoAnswer
from harness.domain.transcript import Transcript

YEAR_AGO = 1_600_000_000


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Cache:
    """A folder with two answers, one of them years old."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = Cache(default_cache())
    for key in ("aa1", "bb2"):
        cache.put(key, NoAnswer(kind="timeout", sentence="It took too long."))
    os.utime(cache.folder / "aa" / "aa1.json", (YEAR_AGO, YEAR_AGO))
    return cache


def said(*arguments: str) -> dict:
    result = CliRunner().invoke(app, ["cache", "--json", *arguments])
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_what_is_kept_is_counted_with_its_size_and_place(kept):
    """Nothing goes unless it is asked for."""
    found = said()

    assert (found["answers"], found["removed"]) == (2, 0)
    assert found["bytes"] > 0
    assert found["folder"] == str(kept.folder)


def test_kept_answers_are_listed_by_who_gave_them(kept):
    """A model by its name, a command by its line; the rest is not known."""
    transcript = Transcript(messages=(), agent="command:./agent")
    kept.put("cc3", transcript)
    shown = CliRunner().invoke(app, ["cache"]).stdout

    found = {one["who"]: one["answers"] for one in said()["by"]}
    assert found == {"": 2, "command:./agent": 1}
    assert "    command:./agent: 1 answer, 0.0 MB, the oldest 0 days old" in shown


def test_batches_under_way_are_told(kept):
    """Somebody has to fetch them."""
    batch = BatchUnderWay(id="b", model="m", address="", keys=("k",), created=time.time())
    Journal(kept.folder / "batches").keep(batch)

    assert said()["batches"] == 1
    assert "1 batch is under way" in CliRunner().invoke(app, ["cache"]).stdout


def test_old_answers_are_removed_and_newer_ones_stay(kept):
    """By age in days."""
    found = said("--older-than", "30")

    assert (found["answers"], found["removed"]) == (1, 1)


def test_a_folder_that_is_not_there_holds_nothing(tmp_path, monkeypatch):
    """Before the first question."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "never"))

    assert said()["answers"] == 0
