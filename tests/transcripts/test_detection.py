"""What a file is, by its content."""

import json
import shutil

import pytest

from harness import transcripts
from harness.domain.errors import UsageError
from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts import FORMATS, detect, opened, read
from tests.transcripts.material import FORMAT_OF, MATERIAL, results_of


def _detected(content):
    (result, *_) = results_of(content)
    return result.origin.format if isinstance(result, Transcript) else result.sentence


@pytest.mark.parametrize(("name", "expected"), FORMAT_OF.items())
def test_each_fixture_is_what_it_is_whatever_its_name(name, expected, tmp_path):
    """The name says nothing."""
    copy = tmp_path / "unnamed"
    shutil.copy(MATERIAL / name, copy)
    with opened(copy) as source:
        assert detect(source) == expected


def test_every_format_is_in_the_table_that_a_reader_of_the_package_meets_first():
    """Beside the words for people in ``FORMATS``."""
    assert [name for name in FORMATS if f"``{name}``" not in transcripts.__doc__] == []


def test_every_format_and_every_fixture_is_in_the_table():
    """A fixture for each format, and none without a test."""
    assert set(FORMAT_OF.values()) == set(FORMATS)
    assert set(FORMAT_OF) == {path.name for path in MATERIAL.iterdir()}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hello", "markdown"),
        ("Use `no_sync()`.", "markdown"),
        ("x = 1", "python"),
        ("train(model)\n", "python"),
        ("---\n\nA ruler, then prose.\n", "markdown"),
        ("```python\nx = 1\n```", "markdown"),
        ("Use:\n\n<pre><code>x = 1\ny = 2\nf(x)\n</code></pre>\n", "markdown"),
        ('An event:\n\n```json\n{"type": "thread.started"}\n```\n', "markdown"),
        ('{"a": 1}', "its JSON has no form of a conversation"),
        ("[1, 2", "its JSON has no form of a conversation"),
        ('[{"role": "user", "content": "a"}]', "openai"),
        ('[{"role": "user", "content": [{"type": "tool_result"}, "x"]}]', "anthropic"),
        ('{"system": "s", "messages": [{"role": "user", "content": "a"}]}', "anthropic"),
        ('{"model": "claude-x", "messages": [{"role": "user", "content": "a"}]}', "anthropic"),
        ('{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}', "openai"),
        ('{"type": "user", "message": {"role": "user", "content": "a"}}\n' * 2, "claude-code"),
    ],
)
def test_what_looks_like_two_formats_is_read_as_the_likelier_one(content, expected):
    """Short, mixed and look-alike files."""
    assert _detected(content) == expected


def test_a_format_can_be_forced():
    """JSON that somebody wants to have read as an answer."""
    (result,) = results_of(json.dumps({"a": 1}), "markdown")

    assert isinstance(result, Transcript)
    assert result.answer == '{"a": 1}'


def test_a_format_that_there_is_not_is_the_users_mistake():
    """Said at once, before anything is read."""
    with pytest.raises(UsageError, match="claude-stream"):
        read("x", "claude_stream")


@pytest.mark.parametrize("path", ["missing.md", "."])
def test_a_file_that_cannot_be_opened_is_one_result(path, tmp_path):
    """The rest of a batch goes on."""
    (result,) = read(tmp_path / path)

    assert isinstance(result, Unreadable)
    assert str(tmp_path) in result.file
