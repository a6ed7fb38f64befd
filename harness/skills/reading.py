"""Markdown of a skill as pages: sections, examples, references."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.domain.skill import Example, Mark, Page, Part, Reference, Section, Skill
from harness.extraction.listings import plain
from harness.markdown import Fence, fenced_blocks
from harness.skills.claims import heading_mark, sentence_mark, warns
from harness.skills.frontmatter import read_frontmatter, without_frontmatter
from harness.skills.python import flaw_of
from harness.skills.splitting import parts_of

_PYTHON = frozenset({"python", "py", "python3"})
_WEB = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def read_skill(folder: str, texts: Mapping[str, str], files: frozenset[str]) -> Skill:
    """A skill from the texts of its Markdown files, and of its scripts, by path within the folder."""
    written = [name for name in texts if not name.endswith(".py")]
    main = next((n for n in ("SKILL.md", "skill.md") if n in texts), min(written))
    order = sorted(texts, key=lambda name: (name != main, name))
    return Skill(
        folder=folder,
        main=main,
        frontmatter=read_frontmatter(texts[main]),
        pages=tuple(
            (_script if name.endswith(".py") else read_page)(name, texts[name]) for name in order
        ),
        files=files,
    )


def read_page(file: str, text: str) -> Page:
    """One Markdown file. The head between ``---`` lines is no text of it."""
    body = without_frontmatter(text)
    outline = _outline(body)
    fences = [f for f in fenced_blocks(body) if f.language in _PYTHON and not f.is_output]
    return Page(
        file=file,
        text=text,
        sections=tuple(_sections(file, body, outline)),
        examples=tuple(_example(file, n, f, outline) for n, f in enumerate(fences, start=1)),
        references=tuple(_references(file, outline)),
        anchors=frozenset(_anchors(outline)),
    )


def _script(file: str, text: str) -> Page:
    """A Python file as a page of one block, which is run as whoever imports it does."""
    code = re.sub(r"__name__(?=\s*==)", f'"{PurePosixPath(file).stem}"', text)
    part = Part(code=code, line=1, mark=None, kind="helper", flaw=flaw_of(code))
    example = Example(
        file=file,
        position=1,
        line=0,
        end=text.count("\n") + 1,
        digest=hashlib.sha256(text.encode()).hexdigest()[:12],
        code=text,
        headings=(),
        before="",
        parts=(part,),
    )
    return Page(
        file=file, text=text, sections=(), examples=(example,), references=(), anchors=frozenset()
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A heading or a paragraph."""

    line: int
    end: int
    text: str
    level: int
    """1 to 6 for a heading, 0 for a paragraph, -1 for a fence."""
    links: tuple[tuple[int, str], ...] = ()


def _outline(text: str) -> list[_Line]:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [found for n, token in enumerate(tokens) if (found := _line(tokens, n, token))]


def _line(tokens: list[Token], n: int, token: Token) -> _Line | None:
    begin, end = (token.map[0] + 1, token.map[1]) if token.map else (0, 0)
    if token.type == "fence":
        return _Line(begin, end, "", -1)
    if token.type != "inline" or not begin:
        return None
    opening = tokens[n - 1]
    level = int(opening.tag[1]) if opening.type == "heading_open" else 0
    links = tuple(
        (begin, str(child.attrs.get("href", child.attrs.get("src"))))
        for child in token.children or []
        if child.type in ("link_open", "image") and {"href", "src"} & {*child.attrs}
    )
    return _Line(begin, end, _plain(token), level, links)


def _plain(token: Token) -> str:
    said = (
        child.content
        if child.type in ("text", "code_inline")
        else " " * (child.type == "softbreak")
        for child in token.children or []
    )
    return "".join(said).strip()


def _example(file: str, position: int, fence: Fence, outline: list[_Line]) -> Example:
    above = [line for line in outline if line.line < fence.line]
    headings = _headings(above)
    sentence = above[-1] if above and above[-1].level == 0 else None
    below_title = [h.text for h in headings if h.level > 1]
    said = (*below_title, sentence.text if sentence else "")
    code = fence.content
    return Example(
        file=file,
        position=position,
        line=fence.line,
        end=fence.line + code.count("\n") + 1,
        digest=hashlib.sha256(code.encode()).hexdigest()[:12],
        code=code,
        headings=tuple(line.text for line in headings),
        before=sentence.text if sentence else "",
        warned=any(map(warns, said)),
        parts=parts_of(
            plain(code),
            fence.line + 1,
            _outside(above, sentence),
            sentence.text if sentence else "",
        ),
    )


def _outside(above: list[_Line], sentence: _Line | None) -> Mark | None:
    """What stands directly above a block: the sentence, or the heading whose first block it is. The
    title of a page is a mark of nothing.
    """
    if sentence and (mark := sentence_mark(sentence.text, sentence.line)):
        return mark
    last = next((line for line in reversed(above) if line.level != 0), None)
    if last is None or last.level < 2:
        return None
    return heading_mark(last.text, last.line)


def _headings(above: list[_Line]) -> list[_Line]:
    stack: list[_Line] = []
    for line in above:
        if line.level > 0:
            stack = [h for h in stack if h.level < line.level] + [line]
    return stack


def _sections(file: str, text: str, outline: list[_Line]) -> Iterator[Section]:
    lines = text.splitlines()
    heads = [line for line in outline if line.level > 0]
    ends = [*(h.line - 1 for h in heads[1:]), len(lines)][: len(heads)]
    first = heads[0].line - 1 if heads else len(lines)
    if any(one.strip() for one in lines[:first]):
        yield Section(file=file, headings=(), line=1, text="\n".join(lines[:first]).strip())
    for head, end in zip(heads, ends, strict=True):
        path = _headings([h for h in heads if h.line <= head.line])
        yield Section(
            file=file,
            headings=tuple(h.text for h in path),
            line=head.line,
            text="\n".join(lines[head.end : end]).strip(),
        )


def _references(file: str, outline: list[_Line]) -> Iterator[Reference]:
    for line in outline:
        for number, target in line.links:
            if not _WEB.match(target):
                yield Reference(file=file, line=number, target=target)


def _anchors(outline: list[_Line]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for line in outline:
        if line.level > 0:
            name = re.sub(r"[^\w\- ]", "", line.text.lower()).replace(" ", "-")
            seen[name] = seen.get(name, -1) + 1
            yield name if not seen[name] else f"{name}-{seen[name]}"
