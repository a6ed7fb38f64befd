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
_OTHER_SUFFIX = re.compile(r"\.(?!py\b)\w+$")
_REPLACES = re.compile(r"-[a-zA-Z]*[fn][a-zA-Z]*|--force|--no-dereference")
_WHOLE = re.compile(r"-[a-zA-Z]*T|--no-target-directory")
_GOES_TO = re.compile(r"-\w*[oO]|--output(-document)?")
_CHANGES = re.compile(r"--(write|fix|apply|in-?place|overwrite|rewrite)(=.*)?")
_COPIES = re.compile(r"cp|sync|mv|pull|get|checkout|update|download|push|clone")

ANY_FILE = (
    *("make", "just", "npm", "yarn", "tar", "unzip", "rsync", "node", "fastmod", "comby"),
    *("7z", "7za", "bsdtar", "parallel", "codemod", "bowler", "ast-grep", "sg"),
    *("copier", "cookiecutter", "ruby", "php", "lua", "Rscript", "julia", "deno", "bun", "go"),
    *("java", "swift", "dotnet", "cargo", "invoke", "task", "ninja", "bazel", "gradle", "npx"),
)
"""Programs that may change any file, unless all that they are asked for is to test, build or run."""
WIDE = (
    *("aider", "apply_patch", "claude", "codex", "cpio", "csplit", "expect", "ftp", "lftp"),
    *("mmv", "mount", "prename", "rename", "restic", "ruplacer", "sftp", "uudecode"),
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
FETCHES = {
    "wget": re.compile(r"-\w*[irm]\w*|--(input-file|recursive|mirror|content-disposition).*"),
    "curl": re.compile(r"-\w*[KJ]\w*|--(config|remote-header-name|remote-name-all).*"),
    "aria2c": re.compile(r"-i|--input-file.*"),
}
"""What programs that fetch are told where the names of their files are not."""
PURPOSES = re.compile(
    r"-.*|all|[\w-]*(?:test|lint|check|type|run|train|install|doc|build|clean)[\w-]*"
)
"""What is asked of ``make`` and its like where it leaves the sources alone, and names of scripts."""
CHANGES_CODE = re.compile(
    r"fix|patch|apply|edit|refactor|rewrit|replac|migrat|convert|codemod|modif|transform|upgrad"
    r"|generat|renam|insert|inject|sed\b",
    re.IGNORECASE,
)
"""In names of Python programs that are not shown: those may change code."""
MODULES = frozenset(
    {
        *("accelerate", "black", "build", "cProfile", "compileall", "coverage", "deepspeed"),
        *("doctest", "flake8", "http", "ipykernel", "isort", "json", "jupyter", "lightning"),
        *("mypy", "nbconvert", "pdb", "pip", "py_compile", "pylint", "pyright", "pytest", "ruff"),
        *("site", "tensorboard", "timeit", "torch", "trace", "tracemalloc", "unittest", "uv"),
        *("venv", "virtualenv", "yapf"),
    }
)
"""Modules that ``python -m`` runs and that change no Python file, or only its layout."""
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
    elif any(map(_REPLACES.fullmatch, words)) and is_folder(files[-1]):
        files = [f"{files[-1]}/{ANY}"]
    for path in files:
        if path.endswith(".py"):
            yield Unshown(path=path, why=f"{program} may have changed it: it has two names")


def is_folder(name: str) -> bool:
    """Whether it may be the name of a folder: it has no suffix."""
    return not _OTHER_SUFFIX.search(name) and not name.endswith(".py")


def put_over(words: list[str], source: str, to: str, target: str) -> Iterator[FileEdit]:
    """What a folder that is moved or copied may take the place of."""
    if is_folder(source) and source not in ("", ".", ".."):
        path = target if any(map(_WHOLE.fullmatch, words)) else to
        yield Unshown(path=f"{path}/{ANY}", why="other files were put over it")


def fetched(program: str, words: list[str]) -> Iterator[FileEdit]:
    """What is fetched under names that the command does not tell."""
    if program == "scp":
        *sources, target = operands(words) or [""]
        if ":" not in target and any(map(is_folder, sources)):
            yield Unshown(path=f"{target}/{ANY}", why="scp may have changed it")
    if program not in FETCHES:
        return
    told = [name for option, name in itertools.pairwise(words) if _GOES_TO.fullmatch(option)]
    names = told or (words if program != "curl" else [])
    hidden = any("$" in name and is_folder(name) for name in names)
    if hidden or any(map(FETCHES[program].fullmatch, words)):
        yield Unshown(path=ANY, why=f"{program} may have changed it: it names no file")


def asked_to_change(program: str, words: list[str]) -> Iterator[FileEdit]:
    """What a program changes that is told to write, and names no Python file."""
    if any(map(_CHANGES.fullmatch, words)) and not named_files(words):
        yield Unshown(path=ANY, why=f"{program} may have changed it")


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
