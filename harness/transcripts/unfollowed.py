"""What may change a file in a way that is not followed: which program, and which file it may be.

The file is unknown from there on, and the sentence names the program.
"""

import itertools
import re
from collections.abc import Iterable, Iterator

from harness.domain.file_edit import Copy, Delete, FileEdit, Unshown
from harness.transcripts.shell_words import operands

ANY = "*.py"
_APART = re.compile(r"[\s'\"`=,:;|&<>(){}\[\]]+")
_NAME = re.compile(r".{0,4096}?\.py\b")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_GLOB = re.compile(r"[*?\[]")
_LINKS = re.compile(r"-[a-zA-Z]*[ls][a-zA-Z]*|--link|--symbolic-link")
_FOLDERS = re.compile(r"[.]{1,2}/?|.*/\.{1,2}/?")
_LONGEST = 1 << 16  # characters of a word that are looked at
_PYTHON = re.compile(r"\$\{?\w*PY\w*", re.IGNORECASE)
_MOUNTS = re.compile(r"-v.*|--volume.*|--mount.*|cp")
_PULLS = re.compile(
    r"checkout|co|update|up|switch|pull|merge|revert|new|edit|restore|patch|unshelve"
)
_AWK_WRITES = re.compile(r"(?s:.*(?:inplace|>\s*(?:\"[^\"]*\.py\"|FILENAME|\$|\w+\s*[;}])).*)")
_COPIES = re.compile(r"cp|sync|mv|pull|get|checkout|update|download|push|clone")

ANY_FILE = (
    *("make", "just", "npm", "yarn", "tar", "unzip", "rsync", "node", "fastmod", "comby"),
    *("7z", "7za", "bsdtar", "parallel", "codemod", "bowler", "ast-grep", "sg"),
    *("copier", "cookiecutter"),
)
"""Programs that may change any file, unless all that they are asked for is to test, build or run."""
WIDE = (
    *("aider", "claude", "codex", "cpio", "csplit", "expect"),
    *("mmv", "prename", "rename", "uudecode"),
)
"""Programs that change files which they do not name."""
MAY_CHANGE = {
    **dict.fromkeys(("awk", "gawk", "mawk"), _AWK_WRITES),
    **dict.fromkeys(("aws", "gsutil", "gcloud", "dvc", "rclone"), _COPIES),
    **dict.fromkeys(("docker", "podman"), _MOUNTS),
    **dict.fromkeys(("hg", "svn", "jj", "gh"), _PULLS),
    **dict.fromkeys(("fd", "fdfind"), re.compile(r"-[xX]|--exec(-batch)?")),
    **dict.fromkeys((*WIDE, "jupytext"), re.compile("(?s:.*)")),
    "jupyter": re.compile("script|python|--to=(script|python)"),
    "perl": re.compile(r"-\w*i.*|--in-place|(?s:.*\bopen\b.*)|.*\.pl"),
    "sort": re.compile(r"-\w*o|--output.*"),
}
"""What has to stand among the words of a program for it to change files."""
RUN_TEXTS = (
    *("at", "batch", "entr", "flock", "screen", "script"),
    *("srun", "su", "systemd-run", "tmux", "watch"),
)
"""Programs that run a command line which they are given in one word."""


def named_files(words: Iterable[str]) -> tuple[str, ...]:
    """The Python files that words name, wherever in a word a name stands."""
    pieces = (piece for word in words for piece in _APART.split(word[:_LONGEST]))
    names = (found[0] for piece in pieces if (found := _NAME.match(piece)))
    return tuple(dict.fromkeys(names))


def doubt_about(program: str, words: Iterable[str]) -> Iterator[FileEdit]:
    """Every Python file that is named to a program of which nothing is known, here or as it names it."""
    for name in named_files(words):
        last = name.rsplit("/", 1)[-1]
        for path in dict.fromkeys((name, last) if "/" in name else (name,)):
            yield Unshown(path=path, why=f"{program} may have changed it")


def descriptors(program: str, files: Iterable[str]) -> Iterator[FileEdit]:
    """What other descriptors than the usual output are connected with (``exec 3> train.py``)."""
    for name in files:
        if name.endswith(".py"):
            yield Unshown(
                path=name, why=f"{program} may have changed it: it was opened for writing"
            )


def linked(program: str, words: list[str]) -> Iterator[FileEdit]:
    """Links: what changes one name changes the other, so neither is known from there on."""
    files = operands(words)
    if any(_FOLDERS.fullmatch(name) for name in files[:-1]):
        files = [ANY]
    for path in files:
        if path.endswith(".py"):
            yield Unshown(path=path, why=f"{program} may have changed it: it has two names")


def makes_links(words: list[str]) -> bool:
    """Whether ``cp`` makes links of what it is to copy."""
    return any(map(_LINKS.fullmatch, words))


def removed_by_find(words: list[str]) -> Iterator[FileEdit]:
    """What ``find`` removes or writes by itself."""
    if "-delete" in words:
        names = [
            words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-name", "-path", "-iname")
        ]
        if not names or any(name.endswith((".py", "*")) for name in names):
            path = names[-1] if names and names[-1].endswith(".py") else ANY
            yield Unshown(path=path, why="find may have removed it")
    for option, path in itertools.pairwise(words):
        if option in ("-fprint", "-fprintf", "-fls", "-fprint0") and path.endswith(".py"):
            yield Unshown(path=path, why="find may have changed it")


def called_by_a_variable(program: str, *, expands: bool) -> Iterator[FileEdit]:
    """A program whose name the shell fills in, unless the variable is called after Python."""
    if expands and program.startswith(("$", "`")) and not _PYTHON.match(program):
        yield Unshown(path=ANY, why=f"{program} may have changed it")


def certain(edit: FileEdit, program: str) -> FileEdit:
    """The change; a doubt where the shell makes several names or another one of its path."""
    path = edit.to if isinstance(edit, Copy) else edit.path
    if isinstance(edit, Unshown | Delete) and not _BRACES.search(path):
        return edit
    several = _BRACES.search(path) or (isinstance(edit, Copy) and _GLOB.search(path))
    elsewhere = path.startswith(("~+", "~-", "$'")) or (
        "$" in path and not path.startswith("$(mktemp") and path.endswith(".py")
    )
    if not several and not elsewhere:
        return edit
    why = f"{program or 'a command'} may have changed it: the shell makes another name of this one"
    return Unshown(path=ANY, why=why)
