"""The kill matrix: which property noticed which deliberate fault, over all scenarios."""

from collections import Counter
from dataclasses import dataclass

from harness.domain.quality import MutantResult, OperatorSeen, QualityReport


@dataclass(frozen=True, slots=True)
class KillCount:
    """How often a property failed on the mutants of one operator."""

    times: int
    """Number of mutants on which the property failed."""
    named: bool
    """Whether the operator names this property as one that has to notice its fault."""


@dataclass(frozen=True, slots=True)
class KillRow:
    """One operator."""

    operator: str
    """Its id."""
    fault: str
    """What is wrong afterwards."""
    killed: int
    """Number of mutants that were judged wrong."""
    equivalent: int
    """Number of mutants that do the same as the original program."""
    survived: int
    """Number of mutants that were not judged wrong although they do something else."""
    cells: tuple[KillCount, ...]
    """One for each property."""


@dataclass(frozen=True, slots=True)
class KillMatrix:
    """All of them."""

    properties: tuple[str, ...]
    """Ids of the columns."""
    rows: tuple[KillRow, ...]
    """Operator by operator."""


def kill_matrix_of(report: QualityReport) -> KillMatrix:
    """Operators that made no mutant are left out."""
    found: dict[str, list[MutantResult]] = {}
    for mutant in report.mutants:
        found.setdefault(mutant.operator, []).append(mutant)
    properties = tuple(sorted({name for mutant in report.mutants for name in mutant.killed_by}))
    rows = (_row(one, found[one.id], properties) for one in report.operators if one.id in found)
    return KillMatrix(properties, tuple(rows))


def _row(
    operator: OperatorSeen, mutants: list[MutantResult], properties: tuple[str, ...]
) -> KillRow:
    fates = Counter(mutant.fate for mutant in mutants)
    kills = Counter(name for mutant in mutants for name in mutant.killed_by)
    return KillRow(
        operator=operator.id,
        fault=operator.fault,
        killed=fates["killed"],
        equivalent=fates["equivalent"],
        survived=fates["survived"],
        cells=tuple(KillCount(kills[name], name in operator.named_by) for name in properties),
    )
