"""Changes that are told in words alone: "change `a` to `b`", "move `c` above `d`"."""

import ast
import re
from collections.abc import Iterator
from textwrap import dedent

from harness.extraction.anchors import UPDATE, anchors, is_simple
from harness.extraction.deletions import sentences
from harness.extraction.parsing import parsed, parses, source_of
from harness.extraction.positions import inserted, is_written
from harness.syntax import walk

_QUOTE = r"`(?P<{}>[^`\n]+)`"
_WORDS = r"[^`.:;!?]{{0,{}}}?"
_OLD, _NEW, _AT = (_QUOTE.format(name) for name in ("old", "new", "at"))
_SIDE = (
    r"\b(?P<side>(?:right |directly |just |immediately )?"
    r"(?:before|above|in front of|ahead of|after|below|behind|underneath|following))\s+"
    r"(?:the\s+|your\s+)?(?:call of\s+|call to\s+|line\s+)?"
)
_CHANGE = r"\b(?:change|replace|swap|turn|switch|exchange)\b"
_INTO = r"\b(?:to|with|by|into|for|against)"
_INSTEAD = r"\b(?:instead of|rather than|in place of)"
_EXCHANGE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_OLD}\s*(?:\u2192|\u21d2|\u27f6|->|=>|-->)\s*{_NEW}",
        rf"{_CHANGE}{_WORDS.format(40)}{_OLD}{_WORDS.format(25)}{_INTO}\s+(?:a\s+|the\s+)?{_NEW}",
        rf"\b(?:use|write|call)\s+{_NEW}{_WORDS.format(15)}{_INSTEAD}\s+{_OLD}",
        rf"{_OLD}\s+(?:should be|must be|has to be|becomes|should read|must read)\s+{_NEW}",
    )
)
_BETWEEN = re.compile(
    rf"(?:\b(?:add|insert|put|place|call|move)\s+|^\W*){_NEW}{_WORDS.format(60)}"
    rf"\bbetween\s+{_AT}\s+and\s+`[^`\n]+`",
    re.IGNORECASE,
)
_INSERT = re.compile(
    rf"\b(?:add|insert|put|place|call|move|shift|pull|push)\s+(?:the\s+|a\s+|one\s+)?"
    rf"(?:{_NEW}|last line){_WORDS.format(60)}{_SIDE}{_AT}",
    re.IGNORECASE,
)
_EDGE = re.compile(
    rf"\b(?:add|insert|put|place|call|move)\s+{_NEW}{_WORDS.format(30)}"
    r"\b(?P<edge>first|last|top|beginning|start|end|bottom)\b(?:\s+(?:line|thing|statement|call))?\s+"
    r"(?:in|inside|of|within|inside of)\s+(?:the|your|each|every)\s+"
    r"(?:`?for`?\s+)?(?:loop|body|iteration)",
    re.IGNORECASE,
)
_DELETE = re.compile(
    rf"\b(?:delete|remove|drop|strike|leave out|take)\s+(?:the\s+)?(?:line\s+|call\s+)?{_OLD}"
    r"(?!\s+out\s+of\s+(?:the\s+|your\s+)?`?(?:if|for|with|loop|block|window|condition))",
    re.IGNORECASE,
)
_FILLER = r"^\W*(?:(?:so|then|now|just|simply|please|and|also|instead|directly|next|finally)\W+)*"
_EDITS = (
    "change|replace|swap|exchange|move|put|add|insert|delete|remove|drop|indent|dedent|wrap|multiply|divide"
    "|scale|unscale|clip|clear|zero|reorder"
)
_TELLS = re.compile(
    rf"{_FILLER}(?:{_EDITS}|call|take|use|set|pass|step|turn|switch)\b", re.IGNORECASE
)
_TELLS_WITHOUT_CODE = re.compile(rf"{_FILLER}(?:{_EDITS})\b", re.IGNORECASE)
_EDITS_MORE = re.compile(rf"\b(?:{_EDITS}|call|set|pass|give|turn|switch)\b", re.IGNORECASE)
_AND_THEN = re.compile(rf"\b(?:and|then|but|,)\s+(?:then\s+|also\s+)?(?:{_EDITS})\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:or|alternatively|either|don'?t|do not|never|not|if|could|might|else)\b", re.IGNORECASE
)
_INTO_A_BLOCK = re.compile(
    r"\b(?:into|inside(?: of)?|in|within)\s+(?:the|your)\s+`(?:if|for|with|while)\b[^`\n]*`"
    r"(?:\s+(?:block|branch|body|statement|loop))?,?\s+(?=(?:right|directly|just|below|above|before|after|behind)\b)",
    re.IGNORECASE,
)
"""Where a line that is quoted next stands is known without it."""
_CODE_QUOTED = re.compile(r"`[^`\n]+`")


def told_in_words(posted: str, answer: str) -> str | None:
    """The posted program after the changes that the answer tells; ``None`` where one is not clear.

    What it tells has to be one thing: no alternatives, no conditions, and nothing that is quoted more
    than once in the program.
    """
    changed = posted
    for sentence in _parts(answer):
        quotes = _CODE_QUOTED.search(sentence)
        if not (_instructs(sentence) if quotes else _TELLS_WITHOUT_CODE.search(sentence)):
            continue
        after = _after(changed, sentence)
        if after is None or _UNSURE.search(_CODE_QUOTED.sub("", sentence)):
            return None
        changed = after
    return changed if ast.dump(parsed(changed)) != ast.dump(parsed(posted)) else None


def _parts(answer: str) -> Iterator[str]:
    """Its sentences, and the items of its lists."""
    for told in sentences(answer):
        sentence = _INTO_A_BLOCK.sub(" ", told)
        yield from re.split(r"\n\s*(?:[-*]|\d+[.)])\s+", sentence)


def _instructs(sentence: str) -> bool:
    found = (p.search(sentence) for p in (*_EXCHANGE, _BETWEEN, _INSERT, _EDGE, _DELETE))
    announces = sentence.rstrip().endswith(":")
    return any(found) or (bool(_TELLS.search(sentence)) and not announces)


def _after(program: str, sentence: str) -> str | None:
    """The program after what one sentence tells; ``None`` where that is not clear, or is not all."""
    patterns = (*_EXCHANGE, _EDGE, _BETWEEN, _INSERT, _DELETE)
    found = next((match for p in patterns if (match := p.search(sentence))), None)
    if found is None or _tells_more(sentence, found):
        return None
    if found.re in _EXCHANGE:
        return _exchanged(program, found["old"], found["new"])
    if found.re is _EDGE:
        return _at_edge(program, found["new"], first=found["edge"].lower() in _FIRST)
    if found.re is _BETWEEN:
        return _put(program, found["new"], "after", found["at"])
    if found.re is _INSERT:
        return _put(program, found["new"] or _last_line(program), found["side"], found["at"])
    return _without(program, found["old"])


def _tells_more(sentence: str, found: re.Match[str]) -> bool:
    """Whether the same sentence has another instruction."""
    rest = (sentence[: found.start()], sentence[found.end() :])
    if re.match(r"\s*(?:,|and|as well as)\s+(?:and\s+)?(?:the\s+)?`", rest[1]):
        return True
    return any(
        (_CODE_QUOTED.search(part) and _EDITS_MORE.search(_CODE_QUOTED.sub("", part)))
        or _AND_THEN.search(part)
        for part in rest
    )


_FIRST = frozenset({"first", "top", "beginning", "start"})
_BEFORE = re.compile(r"\b(?:before|above|front|ahead)\b", re.IGNORECASE)


def _exchanged(program: str, old: str, new: str) -> str | None:
    old, new = old.strip(), new.strip()
    if program.count(old) != 1 or "..." in new or not _stands_alone(program, old):
        return None
    changed = program.replace(old, new)
    return changed if parses(changed) else None


def _stands_alone(program: str, old: str) -> bool:
    """Whether the quoted code is a statement or an expression there, or begins with an operator."""
    if re.match(r"[-+*/%]", old):
        return True
    nodes = (n for n in walk(parsed(program)) if isinstance(n, ast.stmt | ast.expr | ast.keyword))
    written = (ast.get_source_segment(program, node) or "" for node in nodes)
    return any(f".{text}".endswith(f".{old}") for text in written)


def _put(program: str, new: str, side: str, at: str) -> str | None:
    """With a statement next to the one that is quoted; it is moved where it stands already."""
    rest, code = _taken_out(program, new)
    if code is None:
        return None
    places = _written(rest, at)
    if len(places) != 1:
        return None
    return inserted(rest, places[0], code, "before" if _BEFORE.search(side) else "after")


def _at_edge(program: str, new: str, *, first: bool) -> str | None:
    rest, code = _taken_out(program, new)
    loops = [n for n in walk(parsed(rest)) if isinstance(n, ast.For) and anchors(n)["backward"]]
    if code is None or not loops:
        return None
    body = loops[-1].body
    return inserted(rest, body[0] if first else body[-1], code, "before" if first else "after")


def _taken_out(program: str, quoted: str) -> tuple[str, str | None]:
    """The program without a statement that stands there once, and its code; else what is quoted."""
    places = _meant(program, quoted)
    if len(places) > 1:
        return program, None
    if places:
        rest = _cut(program, places[0])
        return (rest, dedent(source_of(program, places[0]))) if rest else (program, None)
    whole = parses(quoted.strip()) and "..." not in quoted and "(" in quoted
    return program, quoted.strip() if whole else None


def _written(program: str, quoted: str) -> list[ast.stmt]:
    nodes = (node for node in walk(parsed(program)) if isinstance(node, ast.stmt))
    return [node for node in nodes if is_simple(node) and is_written(node, quoted)]


def _meant(program: str, quoted: str) -> list[ast.stmt]:
    """The same, where the statement is the quoted call and does not only have it inside."""
    return [node for node in _written(program, quoted) if "(" in quoted or _is_call(node, quoted)]


def _is_call(node: ast.stmt, name: str) -> bool:
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return f".{called}".endswith(f".{name.strip()}")


def _without(program: str, quoted: str) -> str | None:
    places = _meant(program, quoted)
    if len(places) == 1:
        return _cut(program, places[0])
    operand = re.match(r"\s*[-+*/%]", quoted)
    return _exchanged(program, quoted, "") if operand and not places else None


def _cut(program: str, node: ast.stmt) -> str | None:
    lines = program.split("\n")
    end = node.end_lineno or node.lineno
    for filler in ([], [" " * node.col_offset + "pass"]):
        rest = "\n".join([*lines[: node.lineno - 1], *filler, *lines[end:]])
        if parses(rest):
            return rest
    return None


def _last_line(program: str) -> str:
    """The last statement of the loop that trains, as it is written."""
    loops = [n for n in walk(parsed(program)) if isinstance(n, ast.For) and anchors(n)["backward"]]
    last = loops[-1].body[-1] if loops else None
    known = last is not None and is_simple(last) and anchors(last).keys() & UPDATE
    return ast.unparse(last) if last is not None and known else ""
