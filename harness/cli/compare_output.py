"""What ``compare`` prints, and the exit code that it comes to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import RenderableType

from harness.cli.arms import arm_in
from harness.domain.comparison import Comparison
from harness.domain.errors import UsageError, reason
from harness.domain.plan import Rules
from harness.domain.record import Record
from harness.report.console import Output
from harness.store import load_run
from harness.untrusted import read_bytes

if TYPE_CHECKING:
    from harness.report.differing import Programs


class ShownComparison:
    """What is printed, and the exit code that it comes to."""

    def __init__(
        self, output: Output, as_json: bool, anyway: bool, gate: bool, rules: Rules
    ) -> None:
        self._output = output
        self._as_json = as_json
        self._anyway = anyway
        self._gate = gate
        self._rules = rules

    def printed(self, record: Record, rendered: Callable[..., RenderableType]) -> None:
        """As JSON, or as for people."""
        if self._as_json:
            self._output.text(record.model_dump_json(indent=2))
        else:
            self._output.show(rendered(record, plain=self._output.plain))

    def plan(self, scenarios: int, trials: int) -> int:
        """What a comparison of this size could show."""
        from harness.comparison import plan
        from harness.report.power import render_plan

        found = plan(scenarios, trials, rules=self._rules)
        if self._as_json:
            self._output.text(found.model_dump_json(indent=2))
        else:
            self._output.show(render_plan(found))
        return 0

    def rounds(self, scenarios: int, most: int) -> int:
        """What a comparison of this size could show that may stop early, and what it would ask."""
        from harness.comparison import rounds_plan
        from harness.report.rounds import render_rounds_plan

        self.printed(rounds_plan(scenarios, most, rules=self._rules), render_rounds_plan)
        return 0

    def runs(self, folders: Sequence[Path]) -> int:
        """Two runs, or of three the first against each other."""
        from harness.comparison import compare

        if len(folders) < 2:
            raise UsageError("compare takes two stored runs")
        if len({folder.resolve() for folder in folders}) < len(folders):
            raise UsageError("a run is given twice: name two")
        arms = [arm_in(folder) for folder in folders]
        found = [compare(arms[0], new, self._rules, anyway=self._anyway) for new in arms[1:]]
        for comparison, folder in zip(found, folders[1:], strict=True):
            self._comparison(comparison, (folders[0], folder))
        codes = {comparison.gate.code for comparison in found}
        return max(codes, key=(0, 4, 1).index) if self._gate else int(1 in codes)

    def benchmark(self, file: Path) -> int:
        """The two configurations of a ``benchmark.json``, by the verdicts that it holds."""
        from harness.comparison import compare
        from harness.comparison.benchmark import arms_of_benchmark

        try:
            arms = arms_of_benchmark(read_bytes(file, 16 << 20), str(file))
        except OSError as error:
            raise UsageError(f"{file}: {reason(error)}") from error
        found = compare(*arms, self._rules, anyway=self._anyway)
        self._comparison(found, None)
        return found.gate.code if self._gate else int(found.gate.code == 1)

    def _comparison(self, found: Comparison, folders: tuple[Path, Path] | None) -> None:
        from harness.report.comparison import render_comparison

        if self._as_json:
            self._output.text(found.model_dump_json(indent=2))
        else:
            plain, programs = self._output.plain, _programs(folders) if folders else {}
            self._output.show(render_comparison(found, plain=plain, programs=programs))


def _programs(folders: tuple[Path, Path]) -> "Programs":
    """What was proposed, for those answers that are shown side by side."""
    from harness.report.differing import program_of
    from harness.store.arms import numbered

    found: dict[tuple[Literal["old", "new"], str, int], str] = {}
    sides: tuple[Literal["old", "new"], ...] = ("old", "new")
    for side, folder in zip(sides, folders, strict=True):
        with load_run(folder) as run:
            for scenario, answers in numbered(run).items():
                for trial, stored in answers.items():
                    found[side, scenario, trial] = program_of(stored)
    return found
