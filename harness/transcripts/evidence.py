"""What the output of a shell command tells about files: listings, excerpts, differences."""

import re
from collections.abc import Iterator

from harness.domain.file_edit import Difference, Excerpt, FileEdit, SeenWhole
from harness.transcripts.patches import hunks_of
from harness.transcripts.places import resolved
from harness.transcripts.shell import in_folders, program_of
from harness.transcripts.shell_words import Command, commands_of

_RANGE = re.compile(r"(?P<first>\d{1,9}),(?P<last>\d{1,9}|\$)p")
_COUNT = re.compile(r"-(?:n ?)?\+?(?P<count>\d{1,9})")
_NUMBERED = re.compile(r"\s*\d+(?:\t|:)(.*)")
_QUIET = ("cd", "sed", "perl", "cp", "mv", "rm", "mkdir", "touch", "set", "export", "python",
          "python3", "ed", "install", "ln")  # fmt: skip
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(?P<old>\d{1,9}))? \+\d{1,9}(?:,(?P<new>\d{1,9}))? @@")
_FILE = re.compile(r"^diff --git a/(?P<path>\S+) b/\S+\n", re.MULTILINE)


def told_by(command: str, output: str) -> tuple[FileEdit, ...]:
    """What is seen of files after a command, from what it printed."""
    if not output.strip():
        return ()
    commands = commands_of(command)
    if any(_compares(*program_of(one)) for one in commands):
        return tuple(_differences(output))
    return tuple(_listing(commands, output))


def _compares(program: str, words: list[str]) -> bool:
    """Whether it is a ``git diff`` of the working folder against what is committed."""
    if program != "git" or "diff" not in words:
        return False
    given = words[words.index("diff") + 1 :]
    flags = [w for w in given if w.startswith("-") and w != "--"]
    others = [w for w in given if not w.startswith("-") and w != "HEAD"]
    return all(w.startswith("-U") or w == "--no-color" for w in flags) and all(
        "." in w or "/" in w for w in others
    )


def _differences(output: str) -> Iterator[FileEdit]:
    starts = list(_FILE.finditer(output))
    ends = [*(start.start() for start in starts[1:]), len(output)]
    for start, end in zip(starts, ends, strict=False):
        lines = list(_hunk_lines(output[start.end() : end].split("\n")))
        if lines:
            yield Difference(path=start["path"], hunks=hunks_of(lines))


def _hunk_lines(lines: list[str]) -> Iterator[str]:
    """The lines of hunks, as many as their headers promise: another listing may follow."""
    old = new = 0
    for line in lines:
        if header := _HUNK.match(line):
            old, new = (int(header[k] or "1") for k in ("old", "new"))
            yield line
        elif old > 0 or new > 0:
            old -= not line.startswith(("+", "\\"))
            new -= not line.startswith(("-", "\\"))
            yield line


def _listing(commands: list[Command], output: str) -> Iterator[FileEdit]:
    """Of the last command, where nothing before it prints."""
    for one in commands[:-1]:
        if one.piped or not (one.into or _is_quiet(*program_of(one))):
            return
    if not commands or commands[-1].piped or commands[-1].into or commands[-1].body is not None:
        return
    program, words = program_of(commands[-1])
    if not words or words[-1].startswith("-"):
        return
    *_, (_, folder) = in_folders(commands)
    yield from _shown(program, words[:-1], resolved(words[-1], folder), output)


def _is_quiet(program: str, words: list[str]) -> bool:
    return program in _QUIET or (program == "git" and words[:1] in (["checkout"], ["restore"]))


def _shown(program: str, flags: list[str], path: str, output: str) -> Iterator[FileEdit]:
    count = _COUNT.fullmatch(" ".join(flags))
    part = _RANGE.fullmatch(flags[-1]) if flags else None
    if (program, flags) in (("cat", []), ("bat", ["-p"])):
        yield SeenWhole(path=path, content=output)
    elif (program, flags) in (("cat", ["-n"]), ("nl", ["-ba"]), ("grep", ["-n", ""])):
        numbered = [_NUMBERED.fullmatch(line) for line in output.rstrip("\n").split("\n")]
        if all(numbered):
            yield SeenWhole(path=path, content="".join(f"{m[1]}\n" for m in numbered if m))
    elif program == "sed" and flags[:1] == ["-n"] and part is not None and len(flags) == 2:
        shown = output.count("\n") + (not output.endswith("\n"))
        to_end = part["last"] == "$" or shown <= int(part["last"]) - int(part["first"])
        if part["first"] == "1" and to_end:
            yield SeenWhole(path=path, content=output)
        else:
            yield Excerpt(path=path, lines=output, to_end=to_end)
    elif program in ("head", "tail") and (count is not None or not flags):
        yield Excerpt(path=path, lines=output, to_end=program == "tail")
