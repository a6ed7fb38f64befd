"""What becomes of mutants: killed, equivalent, survived; and what a report makes of that."""

from pathlib import Path

import pytest

from harness.domain.instruments import Instruments
from harness.domain.quality import IdleProperty, MutantResult, ProgramResult, QualityReport
from harness.domain.scenario import Bank
from harness.domain.verdict import failed
from harness.quality.equivalence import EquivalenceCheck
from harness.quality.judging import QualityPlan, judge_the_judge
from harness.quality.operator import Operator
from harness.quality.originals import Originals
from harness.quality.program import before
from harness.quality.sources import NamedSource
from harness.quality.trial import JudgedTrial
from harness.report.console import plain_text
from harness.report.quality import quality_line, render_kill_matrix, render_quality
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor, InterruptedExecutor
from tests.fakes.oracle import FakeMeter, opens
from tests.fakes.run import grade
from tests.fakes.traces import trace
from tests.quality.judging import SCENARIOS, Court


def putting(text: str, named_by: str = "finite-loss") -> Operator:
    """An operator that puts one statement in front."""

    def derive(program):
        yield {program.first: before(text)}

    return Operator("put", "Something stands in front.", (named_by,), derive, observes=True)


@pytest.fixture
def fake_bank(tmp_path: Path) -> FakeBank:
    return FakeBank(tmp_path).add()


def report_on(
    bank: FakeBank, *operators: Operator, executor: FakeExecutor | None = None
) -> QualityReport:
    plan = QualityPlan(bank.folder, operators=operators)
    return judge_the_judge(load_bank(bank.folder), plan, opens(executor or FakeExecutor()))


def only_advised(bank: FakeBank) -> FakeBank:
    """A bank in which a loss that is not finite is a matter of advice."""
    path = bank.file("toy-loss/scenario.yaml")
    swapped = path.read_text().replace("finite-loss", "-").replace("still-learns", "finite-loss")
    path.write_text(swapped.replace("- -\n", "- still-learns\n"))
    bank.file("toy-loss/buggy.py").write_text("loss = 1.0  # fails still-learns\n")
    return bank


def counting() -> tuple[FakeExecutor, list[tuple[str, str]]]:
    """An executor, and the programs that it runs with the probe of each run."""
    runs: list[tuple[str, str]] = []
    return FakeExecutor(lambda c, _, probe: runs.append((c.program, probe.name))), runs


def test_a_mutant_that_is_judged_wrong_is_killed_and_named(fake_bank):
    report = report_on(fake_bank, putting("nan = 0"))
    (mutant,) = report.mutants
    assert (mutant.fate, mutant.killed_by, mutant.named) == ("killed", ("finite-loss",), True)
    assert mutant.id == "toy-loss/reference/put/1"
    assert report.exit_code == 0


def test_a_mutant_killed_for_another_fault_is_a_complaint(fake_bank):
    report = report_on(fake_bank, putting("nan = 0", "still-learns"))
    assert report.misnamed == report.mutants
    assert "but for another fault (finite-loss)" in report.complaints[0]
    assert report.exit_code == 1


def test_a_mutant_that_is_judged_right_survived(fake_bank):
    report = report_on(fake_bank, putting("other = 0"))
    (mutant,) = report.mutants
    assert mutant.fate == "survived"
    assert mutant.text.startswith("other = 0")
    assert report.exit_code == 1


def test_alternatives_have_to_be_right_and_cheats_not(fake_bank):
    for name, text in (("alternatives/fine", "x = 1\n"), ("cheats/forged", "y = 1\n")):
        path = fake_bank.folder / "toy-loss" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(text)
    report = report_on(fake_bank)
    assert [p.code for p in report.alternatives] == ["right"]
    assert report.complaints == ("toy-loss: the cheat forged.py is judged right",)


def test_a_cheat_that_is_wrong_in_one_probe_is_not_run_in_the_next(fake_bank):
    folder = fake_bank.folder / "toy-loss" / "cheats"
    folder.mkdir()
    (folder / "bold.py").write_text("nan = 0\n")
    executor, runs = counting()
    report = report_on(fake_bank, executor=executor)
    assert [cheat.code for cheat in report.cheats] == ["wrong"]
    assert runs == [("nan = 0\n", "quiet")]


def test_what_ctrl_c_cut_off_is_no_fault_of_ours(fake_bank):
    """Its executions fail because the jail is closed under them."""
    operators = [putting(f"other = {i}") for i in range(12)]
    report = report_on(fake_bank, *operators, executor=InterruptedExecutor(at=3))
    assert report.interrupted
    assert report.faults == ()
    assert len(report.mutants) < len(operators)


def test_a_fault_of_advice_alone_is_looked_for_in_every_probe(fake_bank):
    """What makes a program wrong may show in a later one only."""
    executor, runs = counting()
    report = report_on(only_advised(fake_bank), putting("nan = 0"), executor=executor)
    assert [m.fate for m in report.mutants] == ["killed"]
    assert [probe for text, probe in runs if "nan" in text] == ["quiet", "loud"]


def test_a_fault_of_advice_that_the_original_has_too_is_not_the_mutants(fake_bank):
    fake_bank.file("reference_impls/toy-loss.py").write_text("nan = 1.0\n")
    report = report_on(only_advised(fake_bank), putting("more = 0"))
    assert [m.fate for m in report.mutants] == ["survived"]


@pytest.mark.parametrize(
    ("sentence", "same"),
    [
        ("In quiet 5 of 14 batches never arrived, at the end of a pass.", True),
        ("In quiet 11 of 1e+01 batches never arrived, at the end of a pass.", True),
        ("In quiet 6 of 10 batches never arrived, within the pass.", False),
    ],
)
def test_a_fault_of_advice_is_another_one_where_it_is_told_in_other_words(sentence, same):
    """Figures are no words: they change with everything."""

    def told(text):
        verdict = failed("no-batch-lost", text)
        return JudgedTrial(grade("quality", "right", verdict), trace()).told

    before = told("In quiet 2 of 10 batches never arrived, at the end of a pass.")
    assert (told(sentence) == before) is same


def test_an_original_is_run_once_however_many_mutants_ask_for_it(fake_bank):
    (scenario,) = load_bank(fake_bank.folder).scenarios
    executor, runs = counting()
    originals = Originals(Instruments(executor, FakeMeter()))
    judged, unjudged = NamedSource("fine", "x = 1\n"), NamedSource("reference", scenario.reference)
    assert originals.judge(scenario, judged).failed == ()
    for _ in range(3):
        assert originals.told(scenario, judged) == originals.told(scenario, unjudged) == {}
    assert runs == [
        (source.text, probe) for source in (judged, unjudged) for probe in ("quiet", "loud")
    ]


def test_a_failure_of_ours_is_no_verdict_on_the_mutant(fake_bank):
    """The others are finished first, and the exit code says whose fault it was."""
    report = report_on(fake_bank, putting("ours = 'our fault'"), putting("nan = 0"))
    assert [m.fate for m in report.mutants] == ["killed"]
    assert "the machine gave up" in report.faults[0]
    assert report.exit_code == 3


def test_a_property_that_no_mutant_needs_is_idle(fake_bank):
    report = report_on(fake_bank, putting("nan = 0"))
    assert report.idle == (
        IdleProperty(scenario="toy-loss", property="still-learns", level="advisory"),
    )


def test_an_alternative_that_is_no_python_is_named_with_its_line(fake_bank):
    path = fake_bank.folder / "toy-loss" / "alternatives" / "broken.py"
    path.parent.mkdir()
    path.write_text("x = 1\nfor\n")
    with pytest.raises(Exception, match=r"broken\.py:2: this is not Python"):
        report_on(fake_bank)


def test_the_rendered_report_counts_by_scenario(fake_bank):
    report = report_on(fake_bank, putting("nan = 0"), putting("other = 0"))
    shown = plain_text(render_quality(report, plain=True))
    assert "toy-loss" in shown
    assert "survived: the code is right" in shown
    assert "1 of 2 mutants killed" in quality_line(report).plain


def test_the_page_lists_operators_killers_and_what_was_not_killed(fake_bank):
    page = render_kill_matrix(report_on(fake_bank, putting("nan = 0"), putting("other = 0")))
    assert "| `put` | Something stands in front. |" in page
    assert "| finite-loss | put |" in page
    assert "| `toy-loss/reference/put/1` | survived |" in page


def test_too_many_equivalent_mutants_are_a_complaint():
    """They would say that operators change too little."""
    same = MutantResult(
        scenario="s", program="reference", operator="o", site=1, line=1, fate="equivalent"
    )
    report = QualityReport(
        harness_version="0",
        bank_digest="",
        scenarios=("s",),
        operators=(),
        mutants=(same,),
        alternatives=(ProgramResult(scenario="s", file="a.py", code="right"),),
        cheats=(),
        idle=(),
        seconds=0.0,
    )
    assert report.complaints == ("1 of 1 mutants are equivalent: too many",)


@pytest.fixture(scope="module")
def compared(court: Court) -> EquivalenceCheck:
    """Remembers what it has executed."""

    class Tools:
        executor = court.executor

    return EquivalenceCheck(Tools())


REFERENCE = SCENARIOS["conflicting-advice"].reference


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (("optimizer.step()", "optimizer.step()  # once"), None),
        (("optimizer.step()", "optimizer.step()\n    optimizer.step()"), "has other gradients"),
        (("optimizer.step()", "pass"), "it makes 0 updates instead of"),
        (("loss.backward()", "(loss * 1.01).backward()"), "has other gradients"),
        (
            ("for batch, labels", 'optimizer.param_groups[0]["lr"] *= 2\nfor batch, labels'),
            "has other learning rates",
        ),
    ],
)
def test_equivalent_is_what_every_update_of_the_second_probe_agrees_on(
    compared: EquivalenceCheck, change: tuple[str, str], differs: str | None
) -> None:
    """Gradients, learning rates and the number of updates each tell two programs apart."""

    found = compared.difference(
        SCENARIOS["conflicting-advice"], REFERENCE, REFERENCE.replace(*change)
    )
    assert found is None if differs is None else differs in (found or "")


@pytest.mark.full
def test_a_second_step_is_equivalent_where_nothing_is_left_to_step_on(
    compared: EquivalenceCheck,
) -> None:
    """A step on ``None`` moves nothing under any optimizer; one on zeros moves under Adam."""

    def twice(clearing: str) -> str | None:
        step = f"optimizer.step()\n    {clearing}"
        program = REFERENCE.replace("optimizer.step()", step)
        again = REFERENCE.replace("optimizer.step()", f"{step}\n    optimizer.step()")
        return compared.difference(SCENARIOS["conflicting-advice"], program, again)

    assert twice("optimizer.zero_grad()") is None
    assert "other gradients" in (twice("optimizer.zero_grad(set_to_none=False)") or "same")


@pytest.mark.full
def test_a_difference_of_rounding_may_grow_as_rounding_does(compared: EquivalenceCheck) -> None:
    """A clip of what is clipped already divides by a norm and a millionth again."""
    scenario = SCENARIOS["ddp-accumulation-no-sync"]
    clip = next(line for line in scenario.reference.splitlines() if "clip_grad_norm_" in line)

    def changed(line: str) -> str | None:
        return compared.difference(
            scenario, scenario.reference, scenario.reference.replace(clip, f"{clip}\n{line}")
        )

    assert changed(clip) is None
    assert "other gradients" in (changed(clip.replace("1.0", "0.999")) or "same")


def test_an_empty_bank_of_operators_finds_nothing(fake_bank):
    bank = load_bank(fake_bank.folder)
    report = judge_the_judge(
        Bank(scenarios=bank.scenarios, digest=bank.digest),
        QualityPlan(fake_bank.folder, operators=()),
        opens(FakeExecutor()),
    )
    assert report.mutants == ()
    assert report.idle == ()
