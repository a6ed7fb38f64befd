"""Whatever the bytes are, the outcome is transcripts or one line: no exception, no hang."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts import FORMATS, files_after
from tests.sampling import sampled
from tests.transcripts.material import FORMAT_OF, MATERIAL, only, results_of

RAW = {name: (MATERIAL / name).read_bytes() for name in FORMAT_OF}
LINES = ["claude-code", "claude-stream", "codex-rollout", "codex-exec"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def _holds(content, form=None):
    for result in results_of(content, form):
        assert isinstance(result, Transcript | Unreadable)
        if isinstance(result, Transcript):
            files_after(result)
            assert Transcript.model_validate_json(result.model_dump_json()) == result
        else:
            assert result.sentence
            assert "\n" not in result.sentence


@given(content=st.binary(max_size=400), form=st.sampled_from([None, *FORMATS]))
def test_any_bytes_are_a_transcript_or_one_sentence(content, form):
    """Detected or forced."""
    _holds(content, form)


@given(content=st.text(max_size=300), form=st.sampled_from([None, "markdown", "python"]))
def test_any_text_is_a_transcript_or_one_sentence(content, form):
    """Lone surrogates and NUL included."""
    _holds(content.encode("utf-8", "surrogatepass"), form)


@pytest.mark.parametrize("name", FORMAT_OF)
@given(data=st.data())
def test_a_fixture_with_changed_bytes_is_a_transcript_or_one_sentence(name, data):
    """Cut off, spliced or with a piece written over."""
    raw = RAW[name]
    at = data.draw(st.integers(0, len(raw)))
    to = data.draw(st.integers(at, min(len(raw), at + 40)))
    tail = raw[to:] if data.draw(st.booleans()) else b""
    middle = data.draw(
        st.binary(max_size=20) | st.sampled_from([b"null", b"[", b"}", b'"', b"1e999"])
    )
    form = data.draw(st.sampled_from([None, FORMAT_OF[name]]))

    _holds(raw[:at] + middle + tail, form)


@pytest.mark.parametrize("name", [n for n, f in FORMAT_OF.items() if n.endswith(("json", "jsonl"))])
@given(data=st.data())
def test_a_fixture_with_changed_values_is_a_transcript_or_one_sentence(name, data):
    """Any value may be of any type."""
    raw = RAW[name].decode()
    by_line = FORMAT_OF[name] in LINES
    documents = (
        [json.loads(line) for line in raw.splitlines()[:-1]]
        if by_line
        else [json.loads(raw)]
        if name.endswith("json")
        else []
    )
    for document in documents:
        _change(document, data)
    text = "\n".join(map(json.dumps, documents))

    _holds(text, FORMAT_OF[name])


def _change(value, data):
    """Replace one value somewhere below."""
    for _ in range(12):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(value[key], dict | list) and value[key] and data.draw(st.integers(0, 4)):
            value = value[key]
            continue
        value[key] = data.draw(JSON)
        return


def test_edits_that_would_fill_the_memory_are_not_made():
    """Every letter of a long file replaced by a long text."""
    write = {"file_path": "a.py", "content": "a" * 900_000}
    edit = {"file_path": "a.py", "old_string": "a", "new_string": "b" * 900_000}
    edit["replace_all"] = True
    blocks = [
        {"type": "tool_use", "id": "1", "name": "Write", "input": write},
        {"type": "tool_use", "id": "2", "name": "Edit", "input": edit},
    ]
    results = [{"type": "tool_result", "tool_use_id": i} for i in ("1", "2")]
    messages = [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    (state,) = files_after(only(results_of(json.dumps({"messages": messages}))))

    assert (state.content, state.changes) == (None, 2)


@pytest.mark.parametrize("form", sampled([None, *FORMATS], 3))
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"version":2,"eval":{},"samples":[{"id":' + b"9" * 100_000 + b"}]}",
        b'{"type":"assistant","sessionId":"s","uuid":"u","message":{"content":"\\ud800\\u0000"}}',
        b'{"messages":[{"role":"user","content":"\\ud800 \\u0000"}]}',
        b'{"type":"user","session_id":1e400,"message":{"role":"user","content":NaN}}',
        b'{"messages":[{"role":"assistant","content":"a"}],"id":' + b"9" * 2_000_000 + b"}",
        b"PK\x03\x04header.json" + b"\x00" * 100,
        b"-" * 100_000 + b"1",
        b"(" * 100_000,
        b"---\n" + b"[" * 50_000 + b"\n---\n",
        b"x = " + b"1 + " * 100_000 + b"1",
        b"\xff\xfe" + b"\x00\xd8" * 100,
        b'---\n"\\ud800": "\\ud800"\n---\nAn answer.\n',
        b'{"version":2,"eval":{},"samples":[{"id":"a\\nb"}]}',
    ],
    ids=range(16),
)
def test_a_bomb_is_a_transcript_or_one_sentence(content, form):
    """Depth, numbers without end, halves of characters."""
    _holds(content, form)


@pytest.mark.parametrize("form", [None, "openai", "anthropic"])
def test_half_of_a_surrogate_pair_in_a_document_is_one_sentence(form):
    """A text that was cut in the middle of an emoji."""
    _holds(rb'{"messages": [{"role": "assistant", "content": "done \ud83d and \udfff"}]}', form)
