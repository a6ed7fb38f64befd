"""Says what a file is by what is in it, never by its name."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import islice

from pydantic import JsonValue

from harness.domain.transcript import Unreadable
from harness.syntax import tree_of
from harness.transcripts.documents import Malformed, events
from harness.transcripts.plain import LONGEST_TEXT
from harness.transcripts.source import Source
from harness.transcripts.streams import ANSWER, is_tar
from harness.transcripts.values import fields, items, parsed, string

_HEAD = 1 << 20
_LINES = 40
_MOST_OF_LINES = 8 << 20
_EVENTS = 400_000
_NO_TEXT = {
    b"\x1f\x8b": "the file is packed with gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "the file is packed with Zstandard: unpack it first",
    b"%PDF-": "the file is a PDF",
}
_EXPECTED = "a transcript, a Markdown answer, a Python file or a notebook"

_CODEX = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"}
)
_CODEX_ITEM = frozenset({"input_text", "output_text"})
_SESSION = frozenset(
    {
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "ai-title",
        "last-prompt",
        "custom-title",
    }
)
_CODE = re.compile(
    r"(?:import \w|from [\w.]+ import |@\w|def \w+\(|class \w+[:(]"
    r"|(?:for|while|if|with|try)\b.*:\s*(?:#|$)"
    r"|[\w.\[\]]+(?:, \w+)* [-+*/]?= \S|[\w.]+\(.*\)?$)"
)


def detect(source: Source) -> str | Unreadable:
    """The name of the format, or why there is none."""
    head = source.head(_HEAD)
    if not head.strip():
        return _no(source, "the file is empty")
    if head[:4] == b"PK\x03\x04":
        return (
            "inspect-eval" if b"header.json" in head or b"_journal/" in head else _archive(source)
        )
    if is_tar(head):
        return "tar"
    for magic, problem in _NO_TEXT.items():
        if head.startswith(magic):
            return _no(source, problem)
    if b"\x00" in head[:8192]:
        return _no(source, "the file is binary")
    return _by_lines(source) or _by_text(source, head)


def _by_text(source: Source, head: bytes) -> str | Unreadable:
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return _by_document(source) or _no(source, "its JSON has no form of a conversation")
    return "python" if _is_python(source) else "markdown"


def _no(source: Source, sentence: str) -> Unreadable:
    return Unreadable(file=source.name, expected=_EXPECTED, sentence=sentence)


def _archive(source: Source) -> str | Unreadable:
    """The directory of an archive is at its end."""
    source.stream.seek(0, 2)
    source.stream.seek(max(source.stream.tell() - _HEAD, 0))
    known = b"header.json" in source.stream.read()
    return "inspect-eval" if known else _no(source, "it is a zip archive, but no Inspect log")


def _by_lines(source: Source) -> str | None:
    """By vote of the first lines, when at least half of them are objects that some format knows."""
    votes: Counter[str] = Counter()
    objects = seen = 0
    record: JsonValue = None
    size = 0
    for line in islice(source.lines(), _LINES):
        if line.content is None:  # too long to say anything
            continue
        seen += 1
        size += len(line.content)
        if size > _MOST_OF_LINES and seen > 1:
            break
        if not line.content.startswith(b"{"):
            continue
        record = parsed(line.content.decode("utf-8", "replace"))
        if isinstance(record, dict):
            objects += 1
            answers = "json-lines" if isinstance(record.get(ANSWER), str) else None
            if (name := _format_of_line(record) or answers) is not None:
                votes[name] += 1
    if not votes or 2 * objects < seen:
        return None
    best = votes.most_common(1)[0][0]
    alone = seen == 1 and string(fields(record).get("type")) == "result"
    return "claude-json" if best == "claude-stream" and alone else best


def _format_of_line(record: dict[str, JsonValue]) -> str | None:
    kind = string(record.get("type"))
    if "payload" in record and kind in _CODEX:
        return "codex-rollout"
    if kind.startswith(("thread.", "turn.", "item.")):
        return "codex-exec"
    content = items(record.get("content"))
    if kind in ("message", "reasoning") and any(
        fields(part).get("type") in _CODEX_ITEM for part in content
    ):
        return "codex-rollout"
    if _is_of_a_session(kind, record):
        return "claude-code"
    if _is_printed(kind, record):
        return "claude-stream"
    message = fields(record.get("message"))
    return "claude-code" if message and message.get("role") == kind else None  # without its ids


def _is_of_a_session(kind: str, record: dict[str, JsonValue]) -> bool:
    """Whether Claude Code stored it."""
    if kind in _SESSION or "parentUuid" in record or "isSidechain" in record:
        return True
    talks = kind in ("user", "assistant", "system")
    return talks and "sessionId" in record and "uuid" in record


def _is_printed(kind: str, record: dict[str, JsonValue]) -> bool:
    """Whether ``claude -p`` printed it."""
    session = "session_id" in record or "sessionId" in record
    if kind == "system":
        return session and "subtype" in record
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict) and (
            session or "parent_tool_use_id" in record
        )
    if kind == "result":
        return "subtype" in record or "num_turns" in record
    return kind in ("stream_event", "rate_limit_event") and session


def _by_document(source: Source) -> str | None:
    """The format of one JSON document, by its field names and a few of its values, read only as far as
    needed.
    """
    sketch: set[str] = set()
    path: list[str] = []
    source.stream.seek(0)
    try:
        for kind, value in islice(events(source.stream), _EVENTS):
            _draw(sketch, path, kind, value)
            if kind in ("end_map", "end_array") and len(path) <= 2 and (name := _decided(sketch)):
                return name
    except Malformed:
        pass
    return _decided(sketch)


def _draw(sketch: set[str], path: list[str], kind: str, value: object) -> None:
    """Note the path of a value in ``sketch``; arrays are ``[]``, and of texts only those that tell
    formats apart are kept.
    """
    if kind == "map_key":
        path[-1] = str(value)[:40]
    elif kind in ("end_map", "end_array"):
        path.pop()
    elif len(path) <= 7:
        here = ".".join(path)
        sketch.add(here)
        if path and path[-1] in ("type", "role", "object", "model") and isinstance(value, str):
            sketch.add(f"{here}={value[:20]}")
    if kind in ("start_map", "start_array"):
        path.append("[]" if kind == "start_array" else "")


def _decided(sketch: set[str]) -> str | None:
    return next((name for name, holds in _RULES if holds(sketch)), None)


def _any(*wanted: str) -> Callable[[set[str]], bool]:
    return lambda sketch: any(w in sketch for w in wanted)


def _all(*wanted: str) -> Callable[[set[str]], bool]:
    return lambda sketch: all(w in sketch for w in wanted)


def _holds(*endings: str) -> Callable[[set[str]], bool]:
    return lambda sketch: any(path.endswith(endings) for path in sketch)


def _chat(sketch: set[str]) -> bool:
    """Whether the document holds messages with roles."""
    lists = ("messages.[]", "request.messages.[]", "[].messages.[]", "request.body.messages.[]")
    bare = {"role", "content"} <= sketch
    return bare or any({f"{p}.role", f"{p}.content"} <= sketch for p in ("[]", *lists))


_RULES: tuple[tuple[str, Callable[[set[str]], bool]], ...] = (
    ("inspect-json", lambda s: "eval" in s and bool(s & {"status", "plan", "samples", "version"})),
    ("notebook", _all("cells", "nbformat")),
    ("notebook", _all("worksheets", "nbformat")),
    ("claude-json", lambda s: "type=result" in s and bool(s & {"num_turns", "subtype", "result"})),
    ("claude-json", lambda s: "[].type=result" in s or {"[].type=system", "[].session_id"} <= s),
    (
        "openai",
        _holds("choices.[].message", "object=chat.completion", ".tool_calls", "tool_call_id"),
    ),
    ("anthropic", _holds("content.[].type=tool_use", "content.[].type=tool_result")),
    ("anthropic", _holds("type=message", "content.[].type=thinking", "stop_reason")),
    ("anthropic", lambda s: bool(s & {"system", "request.system"}) and _chat(s)),
    ("anthropic", lambda s: _chat(s) and any("model=claude" in path for path in s)),
    ("openai", _chat),
)


def _is_python(source: Source) -> bool:
    """Whether it is a program: it parses and does something, or is close to one that parses."""
    raw = source.head(LONGEST_TEXT)
    text = raw.decode("utf-8-sig", "replace")
    tree = _parsed(text) if len(text) <= _HEAD else None
    if tree is not None:
        return any(not isinstance(node, ast.Expr) for node in tree.body) or any(
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
            for node in tree.body
        )
    written = [line.rstrip() for line in text.splitlines()[:2000] if line.strip()]
    lines = [line.strip() for line in written]
    if any(line.startswith(("```", "~~~", "---", "<pre", "<div")) for line in lines):
        return False
    code = sum(bool(_CODE.match(line)) or line.startswith("#") for line in lines)
    return bool(lines) and 2 * code >= len(lines) and any(_CODE.match(line) for line in written)


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # their invalid escapes are not our warnings
            return tree_of(text)
    except SyntaxError:
        return None
