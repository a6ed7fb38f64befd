"""Files of a program's repository: what it imports of them stays modules."""

import ast
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from harness.beside import KEPT, CompanionFile


class Repository(MetaPathFinder, Loader):
    """Finds the files that travel with a program, before all packages of the same name."""

    def __init__(
        self,
        files: Mapping[str, CompanionFile],
        trees: Mapping[str, ast.Module],
        folder: str,
        filename: str,
        given: Mapping[str, Any],
    ) -> None:
        """``trees``: the files as they run; ``folder``: where they seem to lie; ``filename``: begins the
        names of their code; ``given``: names that are lent to each.
        """
        self._files = {n: one for n, one in files.items() if n.partition(".")[0] not in KEPT}
        self._trees = trees
        self._folder, self._filename, self._given = folder, filename, given
        self.tops = frozenset(name.partition(".")[0] for name in self._files)

    def install(self) -> None:
        """From now on, in this process."""
        sys.meta_path.insert(0, self)
        self._lay()
        for name in [n for n in sys.modules if n.partition(".")[0] in self.tops]:
            del sys.modules[name]

    def _lay(self) -> None:
        """Write the files where they seem to lie: some programs look through a folder of them."""
        for one in self._files.values():
            place = self._place(one)
            if os.path.realpath(place).startswith(os.path.realpath(f"{self._folder}/../../..")):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "w", encoding="utf-8") as file:
                    file.write(one.source)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A file, or a folder with files in it."""
        one = self._files.get(fullname)
        if one is not None:
            place = self._place(one)
            return ModuleSpec(fullname, self, origin=place, is_package=one.is_package)
        if any(name.startswith(f"{fullname}.") for name in self._files):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def _place(self, one: CompanionFile) -> str:
        return os.path.normpath(f"{self._folder}/{one.path}")

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """A plain module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, if it is one."""
        one = self._files.get(module.__name__)
        if one is None:
            return
        module.__file__ = self._place(one)
        vars(module).update(self._given)
        name = f"{self._filename}/{one.path}"
        source = self._trees.get(module.__name__, one.source)  # what is no Python says so itself
        exec(compile(source, name, "exec"), vars(module))
