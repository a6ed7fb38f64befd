"""What git does to the files that an agent works on."""

import re
from collections.abc import Callable, Iterator

from harness.domain.file_edit import Copy, Delete, FileEdit, Git, Unshown
from harness.transcripts.places import moved
from harness.transcripts.shell_words import operands

_TAKES_A_VALUE = ("-C", "-c", "--git-dir", "--work-tree")
_VERB = re.compile(r"(?!apply$)[a-z][\w-]*")
_NEW_BRANCH = {"-b", "-B", "-c", "-C", "--create", "--orphan", "--detach", "--abort"}
_HEAD = ("HEAD", "@")
_ELSEWHERE = (
    "switch", "merge", "rebase", "pull", "cherry-pick", "am", "read-tree", "checkout-index",
    "filter-branch", "submodule", "bisect", "sparse-checkout", "unpack-file",
)  # fmt: skip
_LEAVES = frozenset(
    {
        *("add", "annotate", "archive", "blame", "branch", "bundle", "cat-file", "check-ignore"),
        *("clean", "clone", "commit-tree", "config", "count-objects", "describe", "diff"),
        *("diff-files", "diff-index", "diff-tree", "difftool", "fetch", "for-each-ref"),
        *("format-patch", "fsck", "gc", "grep", "help", "hash-object", "init", "lfs", "log"),
        *("ls-files", "ls-remote", "ls-tree", "merge-base", "mergetool", "name-rev", "notes"),
        *("prune", "push", "range-diff", "reflog", "remote", "repack", "rev-list", "rev-parse"),
        *("rm", "shortlog", "show", "show-branch", "show-ref", "status", "symbolic-ref", "tag"),
        *("update-index", "update-ref", "verify-commit", "version", "whatchanged", "worktree"),
        *("write-tree",),
    }
)
"""Commands that leave files under version control as they are."""


def edits_of_git(words: list[str]) -> Iterator[FileEdit]:
    """Changes to files, from the words after ``git``; paths are seen from outside of ``-C``."""
    folder = "."
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            folder = words[1]
        words = words[2:] if words[0] in _TAKES_A_VALUE else words[1:]
    if words and words[0] in _VERBS:
        yield from (moved(edit, folder) for edit in _VERBS[words[0]](words[1:]))
    elif words and _VERB.fullmatch(words[0]) and words[0] not in _LEAVES:
        yield Unshown(path="*.py", why=f"git {words[0]} may have changed it")  # an alias


def _commit(_: list[str]) -> Iterator[FileEdit]:
    yield Git(path=".", action="commit")


def _stash(given: list[str]) -> Iterator[FileEdit]:
    verb = next(iter(operands(given)), "push")
    if verb in ("pop", "apply"):
        yield Git(path=".", action="unstash")
    elif verb == "branch":
        yield Git(path=".", action="other-version")
    elif verb in ("push", "save"):
        yield Git(path=".", action="stash")


def _reset(given: list[str]) -> Iterator[FileEdit]:
    if "--hard" not in given:
        return
    if {*given} <= {"--hard", "-q", "--quiet", *_HEAD}:
        yield Git(path=".", action="restore")
    else:
        yield Git(path=".", action="other-version")


def _checkout(given: list[str]) -> Iterator[FileEdit]:
    if _NEW_BRANCH & {*given}:
        return
    about_files = "--" in given or any("." in path for path in _paths(given))
    if not about_files:  # another branch
        yield Git(path=".", action="other-version")
    elif {"-p", "--patch"} & {*given}:
        for path in _paths(given):
            yield Unshown(path=path, why="git put parts of it back")
    else:
        yield from _put_back(given)


def _restore(given: list[str]) -> Iterator[FileEdit]:
    if "--staged" not in given or "--worktree" in given:
        yield from _put_back(given)


def _put_back(given: list[str]) -> Iterator[FileEdit]:
    version = given[: given.index("--")] if "--" in given else []
    version += [w.partition("=")[2] for w in given if w.startswith("--source=")]
    named = [i + 1 for i, w in enumerate(given[:-1]) if w in ("-s", "--source")]
    version += [given[i] for i in named]
    given = [w for i, w in enumerate(given) if i not in named]
    older = any(w not in _HEAD and not w.startswith("-") for w in version)
    for path in _paths(given) or ["."]:
        yield Git(path=path, action="other-version" if older else "restore")


def _revert(given: list[str]) -> Iterator[FileEdit]:
    last = operands(given) in (["HEAD"], ["@"])
    yield Git(path=".", action="revert" if last else "other-version")


def _elsewhere(given: list[str]) -> Iterator[FileEdit]:
    if not _NEW_BRANCH & {*given}:
        yield Git(path=".", action="other-version")


def _move(given: list[str]) -> Iterator[FileEdit]:
    files = operands(given)
    if len(files) == 2:
        yield Copy(path=files[0], to=files[1], moves=True)


def _remove(given: list[str]) -> Iterator[FileEdit]:
    if "--cached" not in given:
        yield from (Delete(path=path) for path in _paths(given))


def _paths(given: list[str]) -> list[str]:
    if "--" in given:
        return given[given.index("--") + 1 :]
    return [word for word in operands(given) if word not in _HEAD]


_VERBS: dict[str, Callable[[list[str]], Iterator[FileEdit]]] = {
    "commit": _commit,
    "stash": _stash,
    "reset": _reset,
    "checkout": _checkout,
    "restore": _restore,
    "revert": _revert,
    **dict.fromkeys(_ELSEWHERE, _elsewhere),
    "mv": _move,
    "rm": _remove,
}
