"""What a shell command does to files, as far as it can be read without running it.

Followed: heredocs and literal texts into files, ``apply_patch`` and unified diffs, ``sed -i``,
copying, moving and removing, and what git puts back.
A Python file that is written in another way is named as a change that is not shown.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

from harness.domain.file_edit import (
    Append,
    Copy,
    Delete,
    FileEdit,
    Git,
    LineScript,
    Script,
    Unshown,
    Write,
)
from harness.transcripts.git import edits_of_git
from harness.transcripts.patches import edits_of_diff, edits_of_patch
from harness.transcripts.places import moved, resolved
from harness.transcripts.python_scripts import edits_of_python
from harness.transcripts.shell_words import Command, commands_of, operands
from harness.transcripts.unfollowed import (
    ANY,
    ANY_FILE,
    MAY_CHANGE,
    MODULES,
    PURPOSES,
    RUN_TEXTS,
    WIDE,
    asked_to_change,
    called_by_a_variable,
    certain,
    descriptors,
    doubt_about,
    fetched,
    linked,
    makes_links,
    put_over,
    removed_by_find,
)

_BEFORE_A_PROGRAM = re.compile(
    r"\w+=.*|sudo|time|timeout|nohup|command|env|exec|setsid|busybox|nice|stdbuf|then|do|else|\{|!"
    r"|-\w|-o\w+|--[\w-]+(=.*)?|[\d.]+[smhd]?"
)
_IN_PLACE = re.compile(r"-\w*i|--in-place")
_EXTENDED = re.compile(r"-[a-zA-Z]*[Er]|--regexp-extended")
_PRINTS = re.compile(r"-[a-zA-Z]*n|--quiet|--silent")
_HERE = re.compile(r"\$\{?PWD\}?|\$\(pwd\)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_PLAIN = re.compile(r"[^$`]{1,200}")
_SCRATCH = "/mktemp"  # whatever its name is, nothing else lies there
_INSTALLED = re.compile(r"/(usr|bin|sbin|opt)/.*|.*\bv?env/.*|.*\.venv/.*|~/.*")
_TAKE_A_VALUE = ("-u", "-g", "-n", "-s", "-k")
_OTHER_SUFFIX = re.compile(r"\.(?!py\b)\w+$")
_LONGEST_PATH = 4096  # bytes, on Linux; a folder that is deeper was made to keep us busy
_HARMLESS = """[ [[ : accelerate basename bat black cat cd chmod cmp cut diff dirname dos2unix echo
egrep export fgrep file flake8 git grep head isort jq kill less ls lsof md5sum mkdir more mypy nl
nvidia-smi pgrep pip pkill popd pre-commit printf ps pushd pwd pylint pyright pytest readlink
realpath rg ruff sha1sum sha256sum sleep ssh stat tac tail tee test time torchrun touch tree true
unix2dos uv wc which"""
"""Programs that change no Python file that they name, or only its layout."""
_WRITES = re.compile(r"\bw\s+(\S+\.py)\b")
_SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "csh", "tcsh", "fish", "eval", "source", ".")
_RUNNERS = ("uv", "poetry", "pdm", "rye", "hatch", "pipenv", "pixi", "conda", "mamba")
_TARGET = re.compile(r"--target-directory=?|-\w*t")
_NESTED = 5  # command lines in one another


def edits_of_command(command: str) -> tuple[FileEdit, ...]:
    """Changes to files, in the order of the commands; paths are as written, after any ``cd``."""
    if "*** Begin Patch" in command and "<<" not in command:
        return edits_of_patch(command[command.index("*** Begin Patch") :])
    found = in_folders(_filled_in(commands_of(_HERE.sub(".", command))))
    return tuple(e for one, folder in found for e in _in_folder(one, folder))


def _in_folder(one: Command, folder: str) -> Iterator[FileEdit]:
    program, words = program_of(one)
    for edit in _edits(program, words, one):
        yield certain(moved(edit, folder), program)


def _filled_in(commands: Iterable[Command]) -> Iterator[Command]:
    """Each command with the variables that a plain text was given in the same script."""
    known: dict[str, str] = {}

    def fill(word: str | None) -> str | None:
        if word is None or len(word) > _LONGEST_PATH:
            return word
        return _VARIABLE.sub(lambda m: known.get(m[1] or m[2], m[0]), word)

    for one in commands:
        if one.expands:
            one.words = [fill(word) or "" for word in one.words]
            one.into, one.reads = fill(one.into), fill(one.reads)
            left = "".join([*one.words, one.into or "", one.body or ""])
            one.expands = "$" in left or "`" in left
        _learn(known, one.words)
        yield one


def _learn(known: dict[str, str], words: list[str]) -> None:
    """What variables are after a command."""
    sets = bool({"for", "read", "unset"} & {*words[:2]})
    for name, sign, value in (word.partition("=") for word in words):
        if sign or sets:
            known.pop(name, None)
        if _PLAIN.fullmatch(value) and name.isidentifier():
            known[name] = value
        elif value.startswith("$(mktemp"):
            known[name] = _SCRATCH


def in_folders(commands: Iterable[Command]) -> Iterator[tuple[Command, str]]:
    """Each command with the folder that it runs in; what a subshell does ends with it."""
    folders: dict[tuple[int, ...], tuple[str, str]] = {(): ("", "")}
    for one in commands:
        inherited = (one.shell[:depth] for depth in range(len(one.shell), -1, -1))
        folder, before = next(folders[shell] for shell in inherited if shell in folders)
        yield one, folder
        program, words = program_of(one)
        if program == "popd":
            folders[one.shell] = before, folder
        elif program in ("cd", "pushd") and words:
            into = before if words[0] == "-" else resolved(words[0], folder)
            if len(into) <= _LONGEST_PATH:
                folders[one.shell] = into, folder


def program_of(command: Command) -> tuple[str, list[str]]:
    """The program's name and its arguments, past what only runs another one (``timeout 60``)."""
    words = _unwrapped(command.words)
    return (posixpath.basename(words[0]), words[1:]) if words else ("", [])


def _unwrapped(words: list[str]) -> list[str]:
    if words[:1] != ["-"]:
        while words and _BEFORE_A_PROGRAM.fullmatch(words[0]):
            words = words[2 if words[0] in _TAKE_A_VALUE else 1 :]
    if words[1:2] == ["run"] and words[0] in _RUNNERS:
        words = _unwrapped(words[2:])
    return words


def script_of(argv: list[str]) -> str:
    """The command line of an argument list: what follows ``bash -lc``, or the words themselves."""
    if len(argv) >= 3 and argv[-2].startswith("-") and argv[-2].endswith("c"):
        return argv[-1]
    if argv[:1] == ["apply_patch"] and len(argv) == 2:
        return "apply_patch\n" + argv[1]
    return shlex.join(argv)


def _edits(program: str, words: list[str], command: Command) -> Iterator[FileEdit]:
    body = command.body or ""
    if "*** Begin Patch" in body:
        yield from edits_of_patch(body)
    elif program == "patch" or (program == "git" and "apply" in words):
        yield from _patched(words, command)
    elif program in ("find", "xargs"):
        yield from _for_each(program, words, command)
    else:
        yield from _edits_of_program(program, words, command)
    if command.into is not None or program == "tee":
        yield from _output(program, words, command)
    if command.others:
        yield from descriptors(program or "exec", command.others)


def _patched(words: list[str], command: Command) -> Iterator[FileEdit]:
    files = [w for w in words if w.endswith((".patch", ".diff"))]
    patch = command.reads or (files[-1] if files else None)
    if {"-R", "--reverse"} & {*words}:
        yield Git(path=".", action="other-version")
    elif patch is not None:
        yield Script(path=patch, root=".")
    elif command.expands and not command.body:
        yield Unshown(path="*.py", why="patch may have changed it")
    else:
        yield from edits_of_diff(command.body or "")


def _edits_of_program(program: str, words: list[str], command: Command) -> Iterator[FileEdit]:
    if program.startswith("python"):
        yield from _python(words, command)
    elif program in _SHELLS:
        yield from _inner(program, words, command)
    elif program in _PROGRAMS:
        found = _PROGRAMS[program](words)
        yield from (_doubted(e, program) for e in found) if command.expands else found
    elif program.endswith((".py", ".sh")) or _is_of_the_session(program, command):
        yield from _called_by_path(program, words, command)
    elif program in RUN_TEXTS and command.depth < _NESTED:
        texts = [w for w in words if " " in w]
        for text in (*texts, command.body or ""):
            yield from _within(text, command)
        yield from doubt_about(program, words if not texts else ())
    elif program not in _HARMLESS.split():
        yield from called_by_a_variable(program, expands=command.expands)
        yield from doubt_about(program, [*words, command.body or ""])
        yield from fetched(program, words)
        yield from asked_to_change(program, words)


def _called_by_path(program: str, words: list[str], command: Command) -> Iterator[FileEdit]:
    path = _unwrapped(command.words)[0]
    if program.endswith(".py"):
        yield Script(path=path, root=".")
        return
    for doubt in _scripted(program, words):
        yield doubt
        if path.startswith("../"):  # it lies outside of the folder that it is called in
            yield doubt.model_copy(update={"path": f"{posixpath.dirname(path)}/{ANY}"})


def _is_of_the_session(program: str, command: Command) -> bool:
    """Whether a program that nobody installed is called by its path."""
    path = _unwrapped(command.words)[0] if program else ""
    known = program in _HARMLESS.split() or program in RUN_TEXTS or program in _RUNNERS
    return "/" in path and not known and not _INSTALLED.match(path)


def _inner(program: str, words: list[str], command: Command) -> Iterator[FileEdit]:
    """What a command line in a command line does."""
    place = next((i for i, w in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", w)), None)
    given = words[place + 1] if place is not None else command.body
    text = " ".join(words) if program == "eval" else given
    if program == "eval" and command.expands:
        yield Unshown(path="*.py", why="eval may have changed it")
    elif text is not None and command.depth < _NESTED:
        yield from _within(text, command)
    elif not operands(words) and program not in (".", "source"):
        yield Unshown(path=ANY, why=f"{program} may have changed it: what it ran is not shown")
    else:
        yield from (e for w in operands(words)[:1] for e in _scripted(posixpath.basename(w), []))


def _scripted(script: str, words: list[str]) -> Iterator[FileEdit]:
    """A script that is not shown may change any file, unless its name, or all that it is asked for,
    says what it is for.
    """
    asked = bool(words) and all(map(PURPOSES.fullmatch, words)) and not script.endswith(".sh")
    if not asked and not PURPOSES.fullmatch(script.removesuffix(".sh")):
        yield Unshown(path="*.py", why=f"{script} may have changed it")


def _within(text: str, command: Command) -> Iterator[FileEdit]:
    for one, folder in in_folders(_filled_in(commands_of(text))):
        one.depth, one.expands = command.depth + 1, one.expands or command.expands
        yield from _in_folder(one, folder)


def _may_change(program: str, words: list[str]) -> Iterator[FileEdit]:
    """Any file that it names; where it names none, any file there is."""
    if program in ANY_FILE:
        changes = not words or not all(map(PURPOSES.fullmatch, words))
    else:
        changes = program in WIDE or any(map(MAY_CHANGE[program].fullmatch, words))
    told = program not in WIDE and not any("://" in word for word in words)
    named = [word for word in words if told and word.endswith(".py")]
    files = named or [ANY]
    if changes:
        yield from (Unshown(path=f, why=f"{program} may have changed it") for f in files)


def _for_each(program: str, words: list[str], command: Command) -> Iterator[FileEdit]:
    """``find ... -exec COMMAND {} +`` and ``... | xargs COMMAND``: on every file that may be meant."""
    if program == "find":
        yield from removed_by_find(words)
        start = next((i for i, w in enumerate(words) if w in ("-exec", "-execdir")), None)
        if start is None:
            return
        names = [words[i + 1] for i, w in enumerate(words[:start]) if w in ("-name", "-path")]
        called = [w for w in words[start + 1 :] if w not in ("+", ";")]
        target = resolved(names[-1] if names else "*.py", words[0])
    else:
        called = words[next((i for i, w in enumerate(words) if not w.startswith("-")), 0) :]
        target = "*.py"
    called = called[1:] if called[:1] == ["{}"] else called
    placed = [word.replace("{}", target) for word in called]
    if called and called[0] not in ("find", "xargs"):
        given = placed if placed != called else [*called, target]
        yield from _in_folder(Command(words=given, expands=command.expands), "")


def _doubted(edit: FileEdit, program: str) -> FileEdit:
    """What it was given is not known: the shell filled in parts of it."""
    if isinstance(edit, Git):
        return edit.model_copy(update={"action": "other-version"})
    path = edit.to if isinstance(edit, Copy) else edit.path
    why = f"{program} may have changed it: the shell filled in parts of the command"
    return Unshown(path=_meant(path), why=why)


def _meant(path: str) -> str:
    """The file; any Python file where the shell fills in a name that may be one's."""
    name = path if "$(" in path or "`" in path else posixpath.basename(path)
    if "$" not in name and "`" not in name:
        return name if "$" in path else path
    return path if _OTHER_SUFFIX.search(name) else "*.py"


def _output(program: str, words: list[str], command: Command) -> Iterator[FileEdit]:
    """What is written where the output goes."""
    files = operands(words)
    appends = command.appends or (program == "tee" and any(w in ("-a", "--append") for w in words))
    into = files[-1] if program == "tee" and files else command.into
    if program == "tee":
        yield from doubt_about("tee", files[:-1])
    if into is None or into.startswith("/dev/"):
        return
    text = _text(program, words, command)
    if text is not None and not command.expands:
        yield Append(path=into, content=text) if appends else Write(path=into, content=text)
    elif text is not None:
        yield Unshown(path=_meant(into), why="the shell filled in parts of it")
    elif program == "cat" and len(files) == 1 and not appends:
        yield Copy(path=files[0], to=into)
    elif program == "sed" and len(files) == 2 and not appends and not command.expands:
        yield Copy(path=files[1], to=into)
        yield from _sed(["-i", *words[:-1], into])
    elif _meant(into).endswith(".py"):
        yield Unshown(path=_meant(into), why="what a command printed was written to it")


def _text(program: str, words: list[str], command: Command) -> str | None:
    """What is written, where the command holds it."""
    if program in ("cat", "tee") and command.body is not None:
        return command.body
    if program == "echo" and not any(w.startswith("-") for w in words[:1]):
        return " ".join(words) + "\n"
    if program == "printf" and len(words) == 1 and "%" not in words[0]:
        return words[0].replace("\\n", "\n").replace("\\t", "\t")
    return None


def _python(words: list[str], command: Command) -> Iterator[FileEdit]:
    files = operands(words)
    found: tuple[FileEdit, ...] = ()
    if "-c" in words[:-1]:
        found = edits_of_python(words[words.index("-c") + 1])
    elif "-m" in words[:-1]:
        module = words[words.index("-m") + 1]
        known = module.partition(".")[0] in MODULES
        found = () if known else (Script(path=f"{module.replace('.', '/')}.py", root="."),)
    elif files:
        found = (Script(path=files[0], root="."),) if files[0].endswith(".py") else ()
    else:
        found = edits_of_python(command.body or "")
    doubted = command.expands and "-c" in words
    yield from (_doubted(e, "python") for e in found) if doubted else found


def _sed(words: list[str]) -> Iterator[FileEdit]:
    for path in (found for word in words for found in _WRITES.findall(word)):
        yield Unshown(path=path, why="sed wrote to it")
    flags = [word for word in words if word.startswith("-") and word != "-e"]
    if not any(map(_IN_PLACE.match, flags)):
        return
    # An empty word after -i says that no backup is wanted, where one has to say so.
    given = [word for word in words if word and word not in flags]
    after = [i + 1 for i, word in enumerate(given) if word == "-e"]
    scripts = [given[i] for i in after if i < len(given)]
    rest = [w for i, w in enumerate(given) if i not in after and w != "-e"]
    if not scripts:
        scripts, rest = rest[:1], rest[1:]
    language: Literal["sed", "sed -E"] = "sed -E" if any(map(_EXTENDED.match, flags)) else "sed"
    for path in rest:
        if any(map(_PRINTS.match, flags)):
            yield Unshown(path=path, why="sed changed it in place")
        else:
            yield LineScript(path=path, language=language, script="\n".join(scripts))


def _copied(program: str, words: list[str]) -> Iterator[FileEdit]:
    if program == "cp" and makes_links(words):
        yield from linked(program, words)
        return
    *sources, target = _named_last(words) or [""]
    into_folder = len(sources) > 1 or target.endswith("/") or target in (".", "..")
    for source in sources:
        if source.endswith(("/", "/.", "/*")):  # a whole folder
            yield Unshown(path=posixpath.join(target, ANY), why="other files were put over it")
        else:
            to = posixpath.join(target, posixpath.basename(source)) if into_folder else target
            yield Copy(path=source, to=to, moves=program == "mv")
            yield from put_over(words, source, to, target)


def _named_last(words: list[str]) -> list[str]:
    """What is copied and, last, where to: also where an option names the folder."""
    for i, word in enumerate(words):
        option, _, folder = word.partition("=")
        if _TARGET.fullmatch(option):
            rest = words[:i] + words[i + 1 if folder else i + 2 :]
            given = folder or "".join(words[i + 1 : i + 2])
            return [*operands(rest), f"{given}/"]
    return operands(words)


def _installed(words: list[str]) -> Iterator[FileEdit]:
    given = _named_last(words)
    return _copied("install", given if any(map(_TARGET.fullmatch, words)) else given[-2:])


def _only_written(words: list[str]) -> Iterator[FileEdit]:
    """``uniq`` writes its second file."""
    yield from doubt_about("uniq", operands(words)[1:])


def _removed(words: list[str]) -> Iterator[FileEdit]:
    yield from (Delete(path=word) for word in operands(words))


_PROGRAMS: dict[str, Callable[[list[str]], Iterator[FileEdit]]] = {
    "sed": _sed,
    "gsed": _sed,
    "cp": partial(_copied, "cp"),
    "mv": partial(_copied, "mv"),
    "install": _installed,
    "uniq": _only_written,
    "ln": partial(linked, "ln"),
    "rm": _removed,
    "git": edits_of_git,
    **{program: partial(_may_change, program) for program in (*MAY_CHANGE, *ANY_FILE)},
}
