"""A shell script taken apart into its commands: words without quotes, redirections, heredocs.

Enough of the shell's grammar to see what a command does to files. Nothing is run or expanded: a
variable stays as it is written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_LONGEST = 1 << 20  # characters; what is longer was made to keep us busy
_DEEPEST = 20  # subshells in one another
_HEREDOC = re.compile(r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"\\]?)(?P<word>[A-Za-z_][\w.]*)['\"]?")
_REDIRECT = re.compile(r"(?P<number>&|\d?)(?P<arrow>>>|>)\|?(?P<other>&[\d-]?)?[ \t]*")
_INPUT = re.compile(r"\d?<(?:<<|&)?[ \t]*")
_EXPANDS = re.compile(r"(?<!\\)(?:\$[\w({?@*#!-]|`)")
_NAMED = re.compile(r"\{[A-Za-z_]\w*\}")
_LONGEST_NAME = 100  # characters
_ESCAPED = re.compile(r"\\([$`\\])")


@dataclass(slots=True)
class Command:
    """One simple command."""

    words: list[str] = field(default_factory=list)
    """Program and arguments."""
    body: str | None = None
    """The heredoc that it reads."""
    expands: bool = False
    """Whether the shell filled something in, in the heredoc or in a word."""
    reads: str | None = None
    """The file that its input comes from."""
    into: str | None = None
    """The file that its output goes to."""
    appends: bool = False
    """Whether it is added to that file's end."""
    others: list[str] = field(default_factory=list)
    """Files that descriptors beside its output were connected with, to write."""
    piped: bool = False
    """Whether its output goes to the next command."""
    shell: tuple[int, ...] = ()
    """Numbers of the subshells around it, ``( ... )``, the outermost first."""
    depth: int = 0
    """How many command lines it stands in that another command runs."""


def commands_of(script: str) -> list[Command]:
    """All simple commands, in the order in which they stand; none of a script that is endless."""
    if len(script) > _LONGEST:
        return []
    return [
        c
        for c in _Scanner(script).commands()
        if c.words or c.into or c.others or c.body is not None
    ]


def operands(words: list[str]) -> list[str]:
    """The words that are no options."""
    return [word for word in words if not word.startswith("-")]


class _Scanner:
    """Goes through a script once."""

    def __init__(self, script: str) -> None:
        self._text = script.replace("\r\n", "\n").replace("\\\n", " ")
        self._at = 0
        self._command = Command()
        self._subshells = 0
        self._word: list[str] | None = None
        self._into = self._from = self._given = self._other = False
        self._heredocs: list[tuple[Command, re.Match[str]]] = []

    def commands(self) -> Iterator[Command]:
        """Each as soon as it ends."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if self._redirects():
                continue
            if char not in ";|&()\n":
                self._take(char)
                continue
            ended = self._end(char)
            if char == "\n":
                self._read_bodies()
            yield ended
        yield self._end("")

    def _end(self, char: str) -> Command:
        self._finish_word()
        ended, shell = self._command, self._command.shell
        if char == "(" and len(shell) < _DEEPEST:
            self._subshells += 1
            shell = (*shell, self._subshells)
        self._command = Command(shell=shell[:-1] if char == ")" else shell)
        pair = self._text[self._at : self._at + 2]
        ended.piped = char == "|" and pair != "||"
        self._at += 2 if pair in ("&&", "||", ";;", "|&") else 1
        return ended

    def _take(self, char: str) -> None:
        if char in " \t":
            self._finish_word()
            self._at += 1
        elif char == "#" and self._word is None:
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        elif char in "'\"":
            self._quoted(char)
        elif char == "\\":
            self._add(self._text[self._at + 1 : self._at + 2])
            self._at += 2
        elif self._text.startswith("$(", self._at):
            self._substituted()
        elif char == "<":
            self._read_from()
        else:
            self._command.expands |= bool(_EXPANDS.match(self._text, self._at))
            self._add(char)
            self._at += 1

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _finish_word(self) -> None:
        if self._word is None:
            return
        word, self._word = "".join(self._word), None
        if self._into:
            self._command.into, self._into = word, False
        elif self._other:
            self._command.others.append(word)
            self._other = False
        elif self._given:
            self._command.body, self._given = f"{word}\n", False
        elif self._from:
            self._command.reads, self._from = word, False
        else:
            self._command.words.append(word)

    def _quoted(self, quote: str) -> None:
        end = self._at + 1
        while end < len(self._text) and self._text[end] != quote:
            end += 2 if quote == '"' and self._text[end] == "\\" else 1
        inside = self._text[self._at + 1 : end]
        if quote == '"':
            self._command.expands |= bool(_EXPANDS.search(inside))
            inside = re.sub(r"\\([$`\"\\])", r"\1", inside)
        self._add(inside)
        self._at = end + 1

    def _substituted(self) -> None:
        """``$(...)`` is kept as it is written, up to its bracket."""
        depth, end = 0, self._at + 1
        while end < len(self._text):
            depth += {"(": 1, ")": -1}.get(self._text[end], 0)
            end += 1
            if depth == 0:
                break
        self._command.expands = True
        self._add(self._text[self._at : end])
        self._at = end

    def _read_from(self) -> None:
        self._finish_word()
        if start := _HEREDOC.match(self._text, self._at):
            self._heredocs.append((self._command, start))
            self._at = start.end()
        elif other := _INPUT.match(self._text, self._at):
            self._at = other.end()
            self._given = "<<<" in other[0]
            self._from = "<<" not in other[0] and "&" not in other[0]

    def _redirects(self) -> bool:
        """Whether output is sent elsewhere here; a number before it belongs to it."""
        if self._word and (len(self._word) != 1 or not self._word[0].isdigit()):
            if self._text[self._at] != ">":
                return False
            if _NAMED.fullmatch("".join(self._word[:_LONGEST_NAME])):
                self._word = ["9"]  # a descriptor that the shell chooses: `exec {fd}> file`
            else:
                self._finish_word()
        found = _REDIRECT.match(self._text, self._at)
        if found is None:
            return False
        number = (self._word or [found["number"]])[0]
        self._word = None
        self._at = found.end()
        if found["other"] is None or found["other"] == "&":
            self._into = number in ("", "1", "&")
            self._command.appends = found["arrow"] == ">>"
            self._other = not self._into
        return True

    def _read_bodies(self) -> None:
        for command, start in self._heredocs:
            body = "".join(f"{line}\n" for line in self._body(start))
            if not start["quote"]:
                command.expands |= bool(_EXPANDS.search(body))
                body = _ESCAPED.sub(r"\1", body)
            command.body = body
        self._heredocs.clear()

    def _body(self, start: re.Match[str]) -> Iterator[str]:
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line = self._text[self._at : end]
            self._at = end + 1
            line = line.lstrip("\t") if start["dash"] else line
            if line.rstrip(")'\"; ") == start["word"]:
                return
            yield line
