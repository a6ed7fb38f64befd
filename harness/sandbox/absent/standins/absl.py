"""Command lines of absl: flags with their defaults, and a main that is called."""

import logging as _logging
from collections.abc import Callable
from typing import Any

from harness.sandbox.absent.settings import Settings, value_of

_FLAGS = Settings("the command line")


class app:
    """``absl.app``."""

    @staticmethod
    def run(main: Callable[..., Any], *_: Any, **__: Any) -> None:
        """Call it with the name of the program."""
        main(["candidate.py"])


class flags:
    """``absl.flags``."""

    FLAGS = _FLAGS

    @staticmethod
    def mark_flag_as_required(name: str) -> None:
        """It gets a value by its name."""
        if _FLAGS.get(name) is None:
            _FLAGS[name] = value_of(name)

    @staticmethod
    def lookup(name: str) -> Any:
        """``DEFINE_integer`` and all others: name, default."""
        return _define if name.startswith("DEFINE_") else None


def _define(name: str, default: Any = None, *_: Any, **__: Any) -> Any:
    _FLAGS[name] = default
    return type("Flag", (), {"value": default, "name": name})()


class logging:
    """``absl.logging``."""

    info, warning, error, debug = _logging.info, _logging.warning, _logging.error, _logging.debug
    INFO, WARNING, ERROR, DEBUG = 0, 1, 2, 3

    @staticmethod
    def set_verbosity(*_: Any) -> None:
        """Everything is recorded."""
