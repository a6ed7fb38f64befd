"""One reader a format, one normal form: ``read`` turns any file into transcripts.

======================  ======================================================================
``markdown``            an answer as pasted, with YAML front matter or without
``python``              a program
``notebook``            a Jupyter notebook
``anthropic``           JSON of the Anthropic Messages API: request, response or both
``openai``              JSON of the OpenAI chat API: response, or list of messages
``claude-code``         a session of Claude Code, JSON lines
``claude-stream``       ``claude -p --output-format stream-json``
``claude-json``         ``claude -p --output-format json``
``inspect-json``        a log of Inspect, one transcript a sample
``inspect-eval``        the same as an archive
``codex-rollout``       a session of Codex, JSON lines
``codex-exec``          ``codex exec --json``
``json-lines``          an answer a line: ``{"answer": ..., "scenario": ..., "prompt": ...}``
``tar``                 files of these formats in an archive, packed or not
======================  ======================================================================

Nothing in a transcript is an instruction to anything, and nothing of it is evaluated.
"""

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

from harness.domain.errors import UsageError
from harness.domain.transcript import Transcript, Unreadable
from harness.transcripts.api_json import read_anthropic, read_openai
from harness.transcripts.claude_code import read_claude_code
from harness.transcripts.claude_stream import read_claude_json, read_claude_stream
from harness.transcripts.codex import read_codex_exec, read_codex_rollout
from harness.transcripts.detection import detect
from harness.transcripts.documents import Malformed
from harness.transcripts.files import files_after
from harness.transcripts.inspect_log import read_inspect_eval, read_inspect_json
from harness.transcripts.plain import read_markdown, read_notebook, read_python
from harness.transcripts.source import Openable, Source, TooLarge, name_of, opened
from harness.transcripts.streams import read_answer_lines, read_tar
from harness.untrusted import shown

__all__ = ["FORMATS", "detect", "files_after", "opened", "read"]

_Reader = Callable[[Source], Iterator[Transcript | Unreadable]]

FORMATS: dict[str, tuple[str, _Reader]] = {
    "markdown": ("an answer in Markdown", read_markdown),
    "python": ("a Python file", read_python),
    "notebook": ("a Jupyter notebook", read_notebook),
    "anthropic": ("JSON of the Anthropic Messages API", read_anthropic),
    "openai": ("JSON of the OpenAI chat API", read_openai),
    "claude-code": ("a session of Claude Code", read_claude_code),
    "claude-stream": ("what `claude -p --output-format stream-json` prints", read_claude_stream),
    "claude-json": ("what `claude -p --output-format json` prints", read_claude_json),
    "inspect-json": ("a log of Inspect", read_inspect_json),
    "inspect-eval": ("an archived log of Inspect", read_inspect_eval),
    "codex-rollout": ("a session of Codex", read_codex_rollout),
    "codex-exec": ("what `codex exec --json` prints", read_codex_exec),
    "json-lines": ("JSON lines with an answer each", read_answer_lines),
    "tar": ("a tar archive of answers", lambda source: read_tar(source, _member)),
}
"""What each format is, in words, and who reads it."""


def read(
    path_or_stream: Openable,
    format: str | None = None,  # noqa: A002 (the word that users type: --format)
) -> Iterator[Transcript | Unreadable]:
    """Every conversation in the file; what cannot be read is a result too, never an exception.

    Raises:
        UsageError: there is no such format.
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"there is no format {format}: choose one of {', '.join(FORMATS)}")
    return _read(path_or_stream, format)


def _read(
    what: Openable, forced: str | None, *, inside: bool = False
) -> Iterator[Transcript | Unreadable]:
    name, expected = _named(what), "a file that can be read"
    try:
        with opened(what) as source:
            name = source.name
            found = forced or detect(source)
            if isinstance(found, Unreadable):
                yield found
                return
            if inside and found == "tar":
                yield Unreadable(
                    file=name, expected="an answer", sentence="it is an archive in an archive"
                )
                return
            expected, reader = FORMATS[found]
            source.stream.seek(0)
            yield from reader(source)
    except Malformed as error:
        yield Unreadable(file=name, expected=expected, sentence=str(error))
    except TooLarge:
        yield Unreadable(
            file=name, expected=expected, sentence="it is too large for one transcript"
        )
    except OSError as error:
        yield Unreadable(file=name, expected=expected, sentence=_reason(error))


class _Member(BytesIO):
    """A file of an archive, under its name."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(data)
        self.name = name


def _member(name: str, data: bytes) -> Iterator[Transcript | Unreadable]:
    return _read(_Member(name, data), None, inside=True)


def _named(what: Openable) -> str:
    return shown(what) if isinstance(what, str | Path) else name_of(what)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
