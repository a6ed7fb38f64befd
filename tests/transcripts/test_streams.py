"""Many answers in one file: lines of JSON, and archives."""

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import tracemalloc
from contextlib import nullcontext
from functools import partial

import pytest

from harness import transcripts
from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts import streams
from tests.transcripts.material import ANSWER, FIXED, PROMPT, fixture, results_of


def archive(**files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def test_each_line_is_an_answer_with_its_question_scenario_and_model():
    """Named by its line, so that a shard and a run know it again."""
    first, second = fixture("json-lines.jsonl")

    assert first.prompt == PROMPT
    assert first.answer == ANSWER
    assert (first.agent, first.scenario, first.origin.position) == ("model-x", None, "line 1")
    assert (second.agent, second.scenario, second.origin.position) == ("unknown", "alpha", "line 2")


def test_a_line_that_holds_no_answer_is_told_and_the_rest_goes_on():
    """What is expected of it stands beside."""
    whole = json.dumps({"answer": ANSWER})
    results = results_of(f'{whole}\n{{"answer": 3}}\nlog\n{whole}\n{whole[:40]}')

    assert [type(result) for result in results] == [
        Transcript, Unreadable, Unreadable, Transcript, Unreadable,
    ]  # fmt: skip
    assert results[1].sentence == "line 2 holds no answer"
    assert "`answer`" in results[1].expected
    assert results[4].sentence == "line 5 holds no answer; the file may be cut off"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_each_file_of_an_archive_is_read_under_its_name(pack):
    """Of any format, packed or not."""
    answer, program = results_of(
        pack(archive(**{"a.md": ANSWER.encode(), "d/b.py": FIXED.encode()}))
    )

    assert (answer.origin.file, answer.origin.format) == ("<stream>: a.md", "markdown")
    assert (program.origin.file, program.origin.format) == ("<stream>: d/b.py", "python")


@pytest.mark.parametrize("length", [1400, 1536, 1700])
def test_an_archive_that_is_cut_off_tells_what_came_before(length):
    """And says that there was more, wherever the cut is."""
    whole = archive(**{"a.md": ANSWER.encode(), "b.md": b"x" * 300})
    answer, *rest = results_of(whole[:length])

    assert answer.answer == ANSWER
    assert any(word in rest[-1].sentence for word in ("cut off", "damaged"))


def test_a_packed_archive_that_is_cut_off_tells_so():
    """By the error of what unpacks it."""
    noise = random.Random(1).randbytes(9000)
    packed = gzip.compress(archive(**{"a.md": ANSWER.encode(), "b.md": noise}))
    answer, last = results_of(packed[:4000])

    assert answer.answer == ANSWER
    assert "damaged" in last.sentence


def test_an_archive_in_an_archive_is_none():
    """It could hold itself."""
    (result,) = results_of(archive(inner=archive(**{"a.md": ANSWER.encode()})))

    assert result.sentence == "it is an archive in an archive"


def most_memory(data):
    """What is read of some bytes, and how much memory that takes at most."""
    tracemalloc.start()
    results = results_of(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return results, most


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_a_large_file_of_an_archive_is_only_read_where_there_is_no_limit(
    pack, guarded, monkeypatch
):
    monkeypatch.setattr(streams, "LONGEST", 1 << 10 if guarded else 1 << 30)

    (result,) = results_of(pack.compress(archive(**{"a.md": ANSWER.encode() * 20})))

    assert (isinstance(result, Unreadable) and "larger" in result.sentence) == guarded


@pytest.mark.parametrize("guarded", [True, False])
def test_what_is_packed_is_unpacked_piece_by_piece(guarded, monkeypatch):
    """An archive of 919 bytes, passed over as too large, took a gigabyte, and minutes."""
    data = bz2.compress(archive(**{"a.md": bytes(8 << 20), "b.md": ANSWER.encode()}))
    monkeypatch.setattr(streams, "LONGEST", 1 << 20)
    if not guarded:
        monkeypatch.setattr(streams, "_unpacked", lambda source: nullcontext(source.stream))
        monkeypatch.setattr(streams.tarfile, "open", partial(opened_at_once, tarfile.open))

    (large, answer), most = most_memory(data)

    assert "larger than 1 MiB" in large.sentence
    assert answer.answer == ANSWER
    assert (most < 6 << 20) == guarded


def opened_at_once(real, **given):
    return real(fileobj=given["fileobj"], mode="r|*")


@pytest.mark.parametrize("guarded", [True, False])
def test_archives_in_one_another_are_only_gone_through_where_nobody_asks_what_is_inside(
    guarded, monkeypatch
):
    """One that holds itself would be read for ever."""
    if not guarded:
        monkeypatch.setattr(
            transcripts, "_member", lambda _, data: transcripts.read(io.BytesIO(data))
        )
    data = archive(**{"a.md": ANSWER.encode()})
    for _ in range(20):
        data = archive(inner=data)

    (result,) = results_of(data)

    assert isinstance(result, Unreadable) == guarded


@pytest.mark.parametrize("guarded", [True, False])
def test_an_archive_that_is_cut_off_only_counts_as_whole_where_nobody_looks_at_its_end(
    guarded, monkeypatch
):
    if not guarded:
        monkeypatch.setattr(streams, "_is_cut_off", lambda _: False)
    whole = archive(**{"a.md": ANSWER.encode(), "b.md": ANSWER.encode()})

    results = results_of(whole[:1024])

    assert any(isinstance(result, Unreadable) for result in results) == guarded
