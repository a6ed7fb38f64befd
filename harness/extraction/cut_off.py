"""Lines of a posted program shown with new ones among them, where they break off at a head: ``for x in
loader:`` and nothing below.
"""

import re
import textwrap
from itertools import pairwise

from harness.extraction.parsing import parses

_REMARK = re.compile(r"\s+#.*$")


def with_cut_off(program: str, code: str) -> str | None:
    """The program with the new lines of ``code`` between its own; ``None`` where the last line of it is
    no head, the others are not those of one place in the program, or what comes of it does not parse.
    """
    shown = [line for line in code.split("\n") if line.strip()]
    if not shown or not _bare(shown[-1]).endswith(":"):
        return None
    lines = program.split("\n")
    starts = [at for at, line in enumerate(lines) if _bare(line) == _bare(shown[0])]
    ends = {at: end for at in starts if (end := _end(lines, at, shown)) is not None}
    if len(ends) != 1:
        return None
    [(first, last)] = ends.items()
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first : last + 1] = [textwrap.indent("\n".join(shown), margin)]
    changed = "\n".join(lines)
    return changed if parses(changed) else None


def _end(lines: list[str], at: int, shown: list[str]) -> int | None:
    """Where the last shown line stands, if all lines up to it are shown in order, and more of them are
    old than new.
    """
    places = [n for n in range(at, len(lines)) if lines[n].strip()]
    met: list[int] = []
    for line in shown:
        if len(met) < len(places) and _bare(lines[places[len(met)]]) == _bare(line):
            met.append(places[len(met)])
    whole = met and _bare(lines[met[-1]]) == _bare(shown[-1])
    return met[-1] if whole and len(shown) < 2 * len(met) and _deeper(shown) else None


def _deeper(shown: list[str]) -> bool:
    """Whether something stands below a head, so that there is one place for what is new."""
    depths = [len(line) - len(line.lstrip()) for line in shown]
    return any(b > a for a, b in pairwise(depths))


def _bare(line: str) -> str:
    """Without its margin and the remark behind it."""
    return _REMARK.sub("", line).strip()
