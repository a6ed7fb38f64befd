"""Operators make right loops wrong, in the way they say, and in no other."""

import difflib
from collections import Counter, defaultdict

import libcst as cst
import pytest

from harness.domain.instruments import Instruments
from harness.properties import PROPERTIES
from harness.quality.mutants import derive
from harness.quality.operator import CLIPS, LOUD
from harness.quality.operators import OPERATORS
from harness.quality.program import Changes, ParsedProgram
from harness.quality.sources import NamedSource
from harness.quality.trial import JudgedTrial, try_program
from harness.scenarios import default_bank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import FakeMeter
from tests.quality.judging import SCENARIOS
from tests.sampling import sampled

BY_ID = {operator.id: operator for operator in OPERATORS}

LOOP = """\
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""


def mutants_of(operator: str, program: str = LOOP) -> list[str]:
    parsed = ParsedProgram(program)
    return [parsed.changed(changes) for changes in BY_ID[operator].derive(parsed)]


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came, stripped."""
    lines = [*difflib.ndiff(before.splitlines(), after.splitlines())]
    return (
        [line[1:].strip() for line in lines if line.startswith("-")],
        [line[1:].strip() for line in lines if line.startswith("+")],
    )


class WalkingEverywhere(cst.CSTTransformer):
    """The plain way to change nodes: every node of the tree is visited."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node, updated_node):
        change = self._changes.get(original_node)
        return change(updated_node) if change is not None else updated_node


def probes_tried(first: tuple[str, ...], stops_at: str = "") -> list[str]:
    """The names of the probes that a program runs in, in their order."""
    tried: list[str] = []
    tools = Instruments(FakeExecutor(lambda *given: tried.append(given[-1].name)), FakeMeter())

    def enough(_: JudgedTrial) -> bool:
        return tried[-1] == stops_at

    try_program(SCENARIOS["all-three-techniques"], LOOP, tools, enough, first)
    return tried


def test_there_are_at_least_thirty_operators_with_names_of_their_own():
    assert len(OPERATORS) >= 30
    assert len(BY_ID) == len(OPERATORS)


def test_every_property_is_named_by_an_operator():
    """Else no mutant shows what it is for. A part that spikes is clipped away with all others first, and
    models of the bank have no layer that works differently in evaluation, nor does a program of the bank
    take itself up from what it saved; what has no effect is read in a text. What a bank brings is about
    programs that no operator changes.
    """
    named = {name for operator in OPERATORS for name in operator.named_by}
    brought = {p.stem.replace("_", "-") for p in (default_bank() / "properties").glob("[a-z]*.py")}

    assert set(PROPERTIES) - named - brought == {
        "groups-bounded",
        "training-mode-kept",
        "loss-gets-what-it-takes",
        "resume-goes-on",
        "statements-take-effect",
    }


def test_every_operator_says_which_properties_name_its_fault():
    for operator in OPERATORS:
        assert operator.named_by, operator.id
        assert set(operator.named_by) | set(operator.also) <= set(PROPERTIES), operator.id


@pytest.mark.parametrize(
    ("operator", "went", "came"),
    [
        (
            "clip-after-step",  # the step comes before the clip, where only the norm is taken now
            ["optimizer.step()"],
            ['(clip_grad_norm_(model.parameters(), float("inf")))', "optimizer.step()"],
        ),
        (
            "division-dropped",
            ["loss = criterion(model(x), y) / accumulation_steps"],
            ["loss = (criterion(model(x), y))"],
        ),
        (
            "window-off-by-one",
            ["if (i + 1) % accumulation_steps == 0:"],
            ["if (i % accumulation_steps == 0):"],
        ),
        ("step-each-micro-batch", ["if (i + 1) % accumulation_steps == 0:"], ["if (True):"]),
        ("step-dropped", ["optimizer.step()"], []),
    ],
)
def test_an_operator_changes_its_one_place(operator, went, came):
    (mutant,) = mutants_of(operator)

    assert changed_lines(LOOP, mutant) == (went, came)


def test_dropping_zero_grad_drops_every_one():
    (mutant,) = mutants_of("zero-grad-dropped")
    assert "zero_grad" not in mutant


def test_a_program_without_the_place_has_no_mutant():
    assert mutants_of("unscale-dropped") == []
    assert mutants_of("sync-never") == []


def test_a_count_is_used_only_where_it_can_be_seen():
    """A generator's count is no name outside of it; what a loop at the top counts with is one anywhere."""
    inside = """
def planned(loader):
    for i, batch in enumerate(train_loader):
        yield batch, i % 4 == 3

for batch, full in planned(train_loader):
    loss_of(batch).backward()
    if full:
        optimizer.step()
"""
    method = LOOP.replace("    if (i + 1)", "    finish()\n\ndef finish():\n    if (i + 1)")
    assert mutants_of("tail-dropped", inside) == []
    assert len(mutants_of("step-each-micro-batch", inside)) == 1
    assert len(mutants_of("window-off-by-one", method)) == 1


def test_the_first_value_of_a_flag_is_not_what_decides():
    """It is the one that the loop gives it."""
    flagged = "full = False\n" + LOOP.replace(
        "    if (i + 1) % accumulation_steps == 0:",
        "    full = (i + 1) % accumulation_steps == 0\n    if full:",
    )
    (mutant,) = mutants_of("step-each-micro-batch", flagged)
    decided = "full = (i + 1) % accumulation_steps == 0"
    assert changed_lines(flagged, mutant) == ([decided], ["full = (True)"])


def test_a_function_or_a_class_is_no_size_of_a_window():
    """Its name may sound like one."""
    named = "class Accumulator: ...\nmodel.register_post_accumulate_grad_hook(print)\n"
    (mutant,) = mutants_of("tail-dropped", named + LOOP.replace("accumulation_steps", "4"))
    assert "(i + 1) % 4 == 0" in mutant


def test_a_scenario_that_does_not_judge_a_fault_is_left_out():
    groups = SCENARIOS["parameter-groups"]
    assert not BY_ID["clip-dropped"].applies_to(SCENARIOS["padding-and-accumulation"])
    assert BY_ID["clip-all-groups-as-one"].applies_to(groups)


def test_mutants_differ_from_each_other_and_from_what_they_were_made_of():
    scenario = SCENARIOS["all-three-techniques"]
    found = derive([(scenario, ())], OPERATORS, None)
    texts = [mutant.text for mutant in found]
    assert len(set(texts)) == len(texts) > 30
    assert scenario.reference not in texts


def spellings(scenario, number):
    sources = tuple(NamedSource(f"a{i}", f"{LOOP}print({i})\n") for i in range(number))
    return SCENARIOS[scenario], sources


def tried_on_alternatives(found):
    tried = defaultdict(set)
    for mutant in found:
        if mutant.source.name != "reference":
            tried[mutant.operator.id].add((mutant.scenario.id, mutant.source.name))
    return tried


def test_alternatives_take_turns():
    found = derive([spellings("all-three-techniques", 4)], OPERATORS, 1)
    assert {mutant.source.name for mutant in found} == {"reference", "a0", "a1", "a2", "a3"}
    assert {len(places) for places in tried_on_alternatives(found).values()} == {1}


def test_an_operator_is_tried_on_one_alternative_of_a_scenario_and_on_so_many_in_all():
    right = [
        spellings(name, 2) for name in ("amp-unscale-twice", "clip-after-step", "zero-grad-missing")
    ]
    tried = tried_on_alternatives(derive(right, OPERATORS, 2))
    assert max(len(places) for places in tried.values()) == 2
    assert all(
        len({scenario for scenario, _ in places}) == len(places) for places in tried.values()
    )


@pytest.mark.full
def test_no_scenario_is_left_out_where_operators_are_tried_on_few_alternatives():
    right = [
        spellings(name, 2) for name in ("amp-unscale-twice", "clip-after-step", "zero-grad-missing")
    ]
    tried = tried_on_alternatives(derive(right, OPERATORS, 1))
    assert len(set.union(*tried.values())) == 6


@pytest.mark.full
def test_all_alternatives_get_every_operator_where_that_is_asked_for():
    found = derive([spellings("all-three-techniques", 2)], OPERATORS, None)
    by_name = Counter(mutant.source.name for mutant in found)
    assert by_name["a0"] == by_name["a1"] > 20


def test_the_bank_has_a_place_for_every_operator():
    """An operator that finds nothing in any reference or alternative would be a wish."""
    missing = {operator.id for operator in OPERATORS}
    for scenario in SCENARIOS.values():
        fitting = [o for o in OPERATORS if o.id in missing and o.applies_to(scenario)]
        program = ParsedProgram(scenario.reference)
        missing -= {o.id for o in fitting if any(True for _ in o.derive(program))}
    assert not missing


@pytest.mark.parametrize(
    "scenario",
    sampled(["all-three-techniques", "gan-two-optimizers", "everything-under-ddp"], 1),
)
def test_a_mutant_is_the_same_text_whether_all_of_the_program_is_walked_or_not(scenario):
    """Only what is around a change is: most of the time of deriving went into the rest."""
    program = ParsedProgram(SCENARIOS[scenario].reference)
    derived = [
        changes
        for operator in OPERATORS
        if operator.applies_to(SCENARIOS[scenario])
        for changes in operator.derive(program)
    ]
    assert derived
    for changes in derived:
        assert program.changed(changes) == program.module.visit(WalkingEverywhere(changes)).code


def test_a_fault_of_clipping_shows_in_probes_with_large_gradients_and_no_other_fault_asks_for_them():
    asking = {operator.id for operator in OPERATORS if operator.shows_in == LOUD}
    assert asking == {o.id for o in OPERATORS if CLIPS & set(o.named_by)}
    assert "clip-dropped" in asking
    assert "zero-grad-dropped" not in asking


def test_the_probes_with_large_gradients_are_called_so_in_the_bank():
    """Another name would cost time and nothing else, so nobody would see it."""
    names = {probe.name for scenario in SCENARIOS.values() for probe in scenario.probes}
    assert names.issuperset(LOUD)


def test_probes_that_are_named_come_first_and_the_others_keep_their_order():
    usual = probes_tried(())
    last = usual[-1]
    assert usual == [probe.name for probe in SCENARIOS["all-three-techniques"].probes]
    assert probes_tried((last, "unheard-of")) == [last, *usual[:-1]]


def test_a_program_that_fails_in_a_probe_that_is_named_runs_in_no_other():
    last = probes_tried(())[-1]
    assert probes_tried((last,), stops_at=last) == [last]
