"""``benchmark.json`` of skill-creator as two arms: its own verdicts, with our statistics."""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.domain.comparison import Arm, ScenarioTrials, TrialOutcome
from harness.domain.errors import UsageError, in_words

_OLD_FIRST = ("without_skill", "old_skill", "with_skill", "new_skill")


class _Expected(BaseModel):
    text: str
    passed: bool


class _BenchmarkResult(BaseModel):
    pass_rate: float
    errors: int = 0


class _Tried(BaseModel):
    eval_id: int | str
    eval_name: str = ""
    configuration: str
    run_number: int
    result: _BenchmarkResult
    expectations: list[_Expected] = []

    @property
    def scenario(self) -> str:
        return self.eval_name or f"eval {self.eval_id}"


class _About(BaseModel):
    executor_model: str = "unknown"


class _Benchmark(BaseModel):
    model_config = ConfigDict(extra="ignore")

    metadata: _About = _About()
    runs: list[_Tried] = Field(min_length=1)


def arms_of_benchmark(text: bytes, name: str) -> tuple[Arm, Arm]:
    """Its two configurations, the old one first. A run in which every expectation was met is right.

    Raises:
        UsageError: it is no ``benchmark.json``, or has not two configurations.
    """
    try:
        found = _Benchmark.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        expected = "expected benchmark.json of skill-creator"
        raise UsageError(f"{name}: {where}: {in_words(first['msg'])}; {expected}") from error
    names = sorted({run.configuration for run in found.runs}, key=_rank)
    if len(names) != 2:
        raise UsageError(f"{name}: has {len(names)} configurations; a comparison takes two")
    old, new = (_arm(one, found) for one in names)
    return old, new


def _rank(name: str) -> tuple[int, str]:
    return (_OLD_FIRST.index(name) if name in _OLD_FIRST else len(_OLD_FIRST), name)


def _arm(configuration: str, found: _Benchmark) -> Arm:
    by_scenario: dict[str, dict[int, TrialOutcome]] = {}
    for run in found.runs:
        if run.configuration == configuration:
            trials = by_scenario.setdefault(run.scenario, {})
            trials[run.run_number] = _trial(run)
    return Arm(
        name=configuration,
        skill_digest=None,
        model=found.metadata.executor_model,
        delivery="none",
        bank_digest="",
        judge="benchmark.json",
        harness_version="",
        seed=0,
        scenarios=tuple(
            ScenarioTrials(scenario=scenario, trials=tuple(trials[n] for n in sorted(trials)))
            for scenario, trials in by_scenario.items()
        ),
    )


def _trial(run: _Tried) -> TrialOutcome:
    return TrialOutcome(
        trial=run.run_number,
        outcome="right" if run.result.pass_rate >= 1.0 else "wrong",
        criteria={one.text: "met" if one.passed else "not_met" for one in run.expectations},
    )
