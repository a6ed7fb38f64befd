"""Markdown as pasted, Python files and notebooks: one answer; or, in Markdown, a conversation whose
turns stand under ``## User`` and ``## Assistant``, as chats are exported.
"""

import re
from collections.abc import Iterator
from io import BytesIO

import yaml
from pydantic import JsonValue

from harness.domain.transcript import Fact, Message, Origin, Transcript, Unreadable
from harness.transcripts.documents import Malformed, values
from harness.transcripts.source import Source, TooLarge
from harness.transcripts.values import clean, fields, items, scalar, string
from harness.untrusted import yaml_node

LONGEST_TEXT = 16 << 20
LONGEST_PROGRAM = 1 << 20
"""Bytes of a program: its tree takes some six hundred times as many."""
_FRONT = re.compile(r"\A---[ \t]*\n(.{0,65536}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MAGIC = re.compile(r"^(\s*)([%!?].*)$", re.MULTILINE)
_CELL_MAGIC = re.compile(r"\A\s*%%(\w+)[^\n]*\n?")
_PATCH = re.compile(r"^(?:diff --git .*\n|--- .*\n\+\+\+ )", re.MULTILINE)
_ASKS = ("user", "human", "you", "me", "prompt", "question")
_ANSWERS = ("assistant", "ai", "agent", "model", "claude", "chatgpt", "gpt", "gemini", "copilot",
            "response", "answer")  # fmt: skip
_NAMES = "|".join((*_ASKS, *_ANSWERS))
_ROLE = re.compile(
    rf"^(?:#{{1,4}} +(?P<name>{_NAMES}) *:?|\*\*(?P<bold>{_NAMES}) *(?::\*\*|\*\* *:?)) *$",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_TITLE = re.compile(r"#[^\n]*(?:\n[^\n#]{0,200})*")
_SCENARIO = ("scenario", "scenario_id")
_AGENT = ("model", "agent")


def read_markdown(source: Source) -> Iterator[Transcript | Unreadable]:
    """An answer, with YAML front matter or without."""
    text = _text(source)
    if not text.strip():
        yield Unreadable(file=source.name, expected="an answer", sentence="the file is empty")
        return
    facts, body = _front_matter(text)
    found = _answer(source, "markdown", _with_patch_fenced(body), facts)
    turns = _turns(body)
    yield found.model_copy(update={"messages": turns}) if turns else found


def _turns(text: str) -> tuple[Message, ...]:
    """The turns of a conversation; none where the text is one answer, whatever its headings."""
    roles = {**dict.fromkeys(_ASKS, "user"), **dict.fromkeys(_ANSWERS, "assistant")}
    marks = [m for m in _ROLE.finditer(text) if not _in_code(text, m.start())]
    said = [roles[(m["name"] or m["bold"]).lower()] for m in marks]
    title = marks and text[: marks[0].start()].strip()
    if said[:1] != ["user"] or "assistant" not in said or (title and not _TITLE.fullmatch(title)):
        return ()
    ends = [*(m.start() for m in marks[1:]), len(text)]
    return tuple(
        Message(role="user" if role == "user" else "assistant", text=text[m.end() : end].strip())
        for m, role, end in zip(marks, said, ends, strict=True)
    )


def _in_code(text: str, place: int) -> bool:
    return len(_FENCE.findall(text, 0, place)) % 2 == 1


def _with_patch_fenced(text: str) -> str:
    """A bare patch, as git writes one, is an answer with a diff in it."""
    found = _PATCH.search(text)
    if found is None or "```" in text:
        return text
    return f"{text[: found.start()]}\n{_fenced(text[found.start() :], 'diff')}"


def read_python(source: Source) -> Iterator[Transcript | Unreadable]:
    """A program, as if an agent had answered with nothing else."""
    yield _answer(source, "python", _fenced(_text(source, LONGEST_PROGRAM), "python"), ())


def read_notebook(source: Source) -> Iterator[Transcript | Unreadable]:
    """A notebook: what its text cells say, then its code cells as the one program that they are."""
    found = False
    for value in values(source.stream):
        notebook = fields(value)
        cells = _cells(notebook)
        if not cells:
            raise Malformed("it has no cells")
        found = True
        meta = fields(notebook.get("metadata"))
        facts = tuple(Fact(key=clean(k), value=scalar(v)) for k, v in meta.items() if scalar(v))
        yield _answer(source, "notebook", _rendered(cells), facts)
    if not found:
        raise Malformed("it is empty")


def notebook_program(text: str) -> str | None:
    """The code cells of a notebook as one program; ``None`` where it is no notebook."""
    try:
        found = next(values(BytesIO(text.encode(errors="replace"))), None)
    except (Malformed, TooLarge):
        return None
    cells = _cells(fields(found))
    return "\n\n".join(_parts(cells)[1]) if cells else None


def _text(source: Source, largest: int = LONGEST_TEXT) -> str:
    raw = source.head(largest + 1)
    if len(raw) > largest:
        raise TooLarge
    return clean(raw.decode("utf-8-sig", "replace")).replace("\r\n", "\n").replace("\r", "\n")


def _front_matter(text: str) -> tuple[tuple[Fact, ...], str]:
    """Facts and the rest; where there is no mapping between the dashes, they are a ruler."""
    match = _FRONT.match(text)
    if match is None:
        return (), text
    try:  # BaseLoader: every scalar stays the text that it is
        yaml_node(match[1], yaml.SafeLoader)
        value = yaml.load(match[1], Loader=yaml.BaseLoader)  # noqa: S506 (it makes nothing but texts)
    except (yaml.YAMLError, RecursionError, ValueError):
        return (), text
    if not isinstance(value, dict) or not value:
        return (), text
    facts = tuple(
        Fact(key=clean(k), value=clean(v))  # "\ud800" is YAML too
        for k, v in value.items()
        if isinstance(k, str) and isinstance(v, str) and v
    )
    return facts, text[match.end() :]


def _answer(source: Source, kind: str, text: str, facts: tuple[Fact, ...]) -> Transcript:
    known = {fact.key.lower(): fact.value for fact in facts}
    return Transcript(
        messages=(Message(role="assistant", text=text),),
        agent=next((known[k] for k in _AGENT if k in known), "unknown"),
        origin=Origin(file=source.name, format=kind),
        scenario=next((known[k] for k in _SCENARIO if k in known), None),
        facts=facts,
    )


def _cells(notebook: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
    sheets = items(notebook.get("worksheets"))  # nbformat 3
    nested = [cell for sheet in sheets for cell in items(fields(sheet).get("cells"))]
    return [fields(cell) for cell in (items(notebook.get("cells")) or nested)]


def _rendered(cells: list[dict[str, JsonValue]]) -> str:
    prose, code = _parts(cells)
    if code:
        prose.append(_fenced("\n\n".join(code), "python"))
    return "\n\n".join(part for part in prose if part.strip())


def _parts(cells: list[dict[str, JsonValue]]) -> tuple[list[str], list[str]]:
    """Prose, and code cells as Python."""
    prose: list[str] = []
    code: list[str] = []
    for cell in cells:
        text = _source(cell.get("source", cell.get("input")))
        if cell.get("cell_type") != "code":
            prose.append(text)
        elif (magic := _CELL_MAGIC.match(text)) and magic[1] not in ("time", "timeit", "capture"):
            prose.append(_fenced(text, magic[1]))
        elif text.strip():
            code.append(_MAGIC.sub(r"\1pass  # \2", _CELL_MAGIC.sub("", text)))
    return prose, code


def _source(value: JsonValue) -> str:
    return "".join(map(string, items(value))) if isinstance(value, list) else string(value)


def _fenced(code: str, info: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{info}\n{code.rstrip(chr(10))}\n{marks}"
