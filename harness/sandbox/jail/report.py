"""Which guards of the jail hold on this machine, and which do not and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from harness.sandbox.frames import Json, JsonObject

GuardName = Literal[
    "session", "descriptors", "rlimits", "user-namespace", "network-namespace", "loopback",
    "ipc-namespace", "scratch-quota", "capabilities", "no-new-privileges", "landlock", "seccomp",
]  # fmt: skip
"""Every guard, in the order in which the child puts them up."""

GUARD_NAMES: tuple[GuardName, ...] = get_args(GuardName)
"""The same, as values."""


CAN_BE_CUT = ", readable files can be truncated"
"""What the account of files ends with where the kernel is too old to prevent that."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard."""

    name: GuardName
    """Which."""
    on: bool
    """Whether it holds."""
    detail: str
    """What it amounts to here, or why it is off."""


@dataclass(frozen=True, slots=True)
class JailReport:
    """All guards of one process."""

    guards: tuple[Guard, ...]
    """In the order in which they were put up."""

    def on(self, name: GuardName) -> bool:
        """Whether a guard holds."""
        return any(guard.on for guard in self.guards if guard.name == name)

    @property
    def keeps_files(self) -> bool:
        """Whether files that may be read cannot be changed, not even cut off."""
        held = (guard for guard in self.guards if guard.name == "landlock" and guard.on)
        return any(CAN_BE_CUT not in guard.detail for guard in held)

    def missing(self) -> tuple[Guard, ...]:
        """Guards that do not hold, for the output."""
        return tuple(guard for guard in self.guards if not guard.on)

    def to_json(self) -> JsonObject:
        """Write the report for :meth:`from_json`."""
        return {"guards": [[guard.name, guard.on, guard.detail] for guard in self.guards]}

    @classmethod
    def from_json(cls, data: JsonObject) -> "JailReport":
        """Read a report.

        Raises:
            ValueError: it is not one.
        """
        match data:
            case {"guards": list(rows)}:
                return cls(tuple(map(_guard, rows)))
        raise ValueError("not a jail report")


@dataclass(frozen=True, slots=True, kw_only=True)
class JailPolicy:
    """Switches for the tests of the jail, which must see each attack succeed with its guard off."""

    disabled: frozenset[GuardName] = frozenset()
    """Guards to leave out."""


def put_up(name: GuardName, policy: JailPolicy, action: Callable[[], str]) -> Guard:
    """Put up one guard; a machine that refuses it is reported, not an error."""
    if name in policy.disabled:
        return Guard(name, on=False, detail="switched off by a test")
    try:
        return Guard(name, on=True, detail=action())
    except (OSError, ImportError, RuntimeError) as error:  # RuntimeError: libseccomp is absent
        return Guard(name, on=False, detail=f"not available: {error}")


def _guard(row: Json) -> Guard:
    match row:
        case [str(given), bool(on), str(detail)] if given in GUARD_NAMES:
            return Guard(GUARD_NAMES[GUARD_NAMES.index(given)], on, detail)
    raise ValueError("not a guard")
