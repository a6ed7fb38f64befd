"""Where files lie: paths as a command writes them, seen from outside of the folder it runs in."""

import posixpath

from harness.domain.file_edit import Copy, FileEdit, Patch, Script


def resolved(path: str, folder: str) -> str:
    """The path from the folder on; absolute where one of the two is. ``~`` stays what it is."""
    if not path.strip() or path.startswith("~"):
        return path
    return posixpath.normpath(posixpath.join(folder, path))


def moved(edit: FileEdit, folder: str) -> FileEdit:
    """The same change, with all its paths resolved."""
    update = {"path": resolved(edit.path, folder)}
    if isinstance(edit, Copy):
        update["to"] = resolved(edit.to, folder)
    if isinstance(edit, Script):
        update["root"] = resolved(edit.root, folder)
    if isinstance(edit, Patch) and edit.moved_to:
        update["moved_to"] = resolved(edit.moved_to, folder)
    return edit.model_copy(update=update)
