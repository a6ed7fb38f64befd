"""Packages that only watch or only show: their names do nothing, and what they were told they keep."""

from types import ModuleType
from typing import Any

from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.settings import AbsentSettings


class Watching(ModuleType):
    """A module of which every name does nothing; a run hands back the settings that it is told."""

    __version__ = "0"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.config = AbsentSettings("the sweep")
        self.run: _TrackedRun | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Inert()

    def init(self, *_: Any, config: Any = None, **__: Any) -> Any:
        """A run with the settings that it is told."""
        self.config.update({} if config is None else config)
        self.run = _TrackedRun(self.config)
        return self.run


class _TrackedRun(Inert):
    def __init__(self, config: AbsentSettings) -> None:
        self.config = config
        self.name = self.id = self.dir = "run"


def module(name: str) -> ModuleType:
    """What is imported under a name of such a package."""
    return Watching(name)
