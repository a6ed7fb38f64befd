"""What holds for all properties together: registry, completion, explanations."""

import graphlib
import inspect
from pathlib import Path

import pytest

import harness.properties
from harness.domain.verdict import Verdict
from harness.properties import FAMILIES, PROPERTIES, judge
from harness.properties.judging.explanations import explain_away
from tests.fakes.traces import probe, program, quiet_and_loud, scenario, trace, update
from tests.properties import loops
from tests.properties.verdicts import on
from tests.properties.worlds import Loop

LEVELS = ("required", "guard", "advisory")

HOUSE = Path(harness.properties.__file__).parent


def verdict(name: str, outcome: str, *, figures: bool = True, level: str = "required") -> Verdict:
    numbers = ({"name": "x", "value": 1.0},) if figures else ()
    return Verdict.model_validate(
        {
            "property": name,
            "outcome": outcome,
            "sentence": "Seen.",
            "numbers": numbers,
            "level": level,
        }
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_property_lives_in_the_file_of_its_name_in_the_folder_of_its_family(family):
    """The listing of the folders is the list of ways in which loops go wrong."""
    folder = Path(family.__file__).parent
    files = [Path(inspect.getfile(known.judge)) for known in family.PROPERTIES]

    assert files == [folder / f"{known.id.replace('-', '_')}.py" for known in family.PROPERTIES]


def test_every_file_that_holds_a_property_is_registered():
    """A property that nobody calls finds nothing."""
    held = [p for p in HOUSE.rglob("*.py") if "\nPROPERTY = " in p.read_text()]

    ours = [p for p in PROPERTIES.values() if p.judge.__module__.startswith("harness.")]
    assert len(held) == len(ours)  # a bank brings others


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_tells_its_story(name):
    """A claim in one sentence, a bug, the signature, and what masks it."""
    known = PROPERTIES[name]
    assert known.claim.endswith(".")
    assert known.needs
    assert all(part in known.description for part in ("Bug::", "Signature:", "Masked by:"))


def test_explanations_name_properties_and_never_run_in_circles():
    """Of two faults that explain each other, neither would be left."""
    graph = {p.id: set(p.explains) for p in PROPERTIES.values()}
    assert set().union(*graph.values()) <= set(PROPERTIES)
    list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("name", PROPERTIES)
def test_nothing_recorded_never_passes(name):
    """An empty set is no evidence."""
    assert on(name, trace()).outcome == "inconclusive"
    assert on(name, trace(probe("quiet"))).outcome == "inconclusive"


@pytest.mark.parametrize("outcome", ["unbound", "not-completed", "raised"])
def test_a_program_that_did_not_get_through_passes_nothing(outcome):
    """What was right until then says nothing about the rest."""
    stopped = program(outcome, message="why", exception="ValueError", line=3)
    probes = [p.model_copy(update={"program": stopped}) for p in quiet_and_loud().probes]
    verdicts = judge(trace(*probes), scenario(list(PROPERTIES)))
    assert {v.outcome for v in verdicts} == {"inconclusive"}
    assert any("why" in v.sentence for v in verdicts)


def test_one_open_probe_keeps_the_others_from_passing():
    """It might have shown the fault."""
    quiet, loud = quiet_and_loud().probes
    killed = loud.model_copy(update={"program": program("not-completed", message="timeout")})
    assert on("gradients-start-fresh", trace(quiet, killed)).outcome == "inconclusive"


def test_a_fault_of_ours_is_never_held_against_the_program():
    """Not even a fact: what broke may have written it."""
    ours = program("not-completed", ours=True, message="the channel broke")
    seen = trace(probe("quiet", update(0, parameters_finite=False), program=ours))
    assert on("params-stay-finite", seen).outcome == "inconclusive"


def test_a_fault_that_another_accounts_for_is_explained():
    """One fault, one failure."""
    names = ("unscaled-norm", "clip-global-norm", "still-learns")
    found = explain_away([verdict(n, "fail") for n in names], PROPERTIES)
    assert [v.outcome for v in found] == ["fail", "inconclusive", "inconclusive"]
    assert {v.explained_by for v in found[1:]} == {"unscaled-norm"}


def test_a_pass_and_nothing_seen_need_no_explanation():
    """Only what is off does."""
    given = [
        verdict("unscaled-norm", "fail"),
        verdict("clip-global-norm", "pass"),
        verdict("still-learns", "inconclusive", figures=False),
    ]
    assert explain_away(given, PROPERTIES) == tuple(given)


def test_an_advisory_failure_explains_no_required_one():
    """It flips nothing, so it must not unflip either."""
    given = [
        verdict("unscaled-norm", "fail", level="advisory"),
        verdict("still-learns", "fail"),
    ]
    found = explain_away(given, PROPERTIES)
    assert [v.outcome for v in found] == ["fail", "fail"]


def test_verdicts_come_in_the_scenarios_order_and_then_in_that_of_the_trace():
    """As a reader of the scenario expects them: what is required first."""
    names = ["still-learns", "finite-loss"]
    found = judge(quiet_and_loud(), scenario(names))
    assert [v.property for v in found][:2] == names
    assert [v.level for v in found] == sorted((v.level for v in found), key=LEVELS.index)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_verdicts_do_not_depend_on_units(size):
    """A threshold and gradients in other units are the same loop."""
    probes = []
    for name, loud in (("quiet", 0.05), ("loud", 20.0)):
        paper = Loop(name, loud * size)
        for window in loops.windows(paper):
            for b in window:
                paper.backward(b, 1 / len(window))
            paper.clip(size)
            loops.finish(paper, window)
        probes.append(paper.probe())
    chosen = scenario(["clip-global-norm", "clip-inactive-when-small"])
    judged = chosen.model_copy(
        update={"expectations": chosen.expectations.model_copy(update={"max_norm": size})}
    )
    required = [v for v in judge(trace(*probes), judged) if v.level == "required"]
    assert {v.outcome for v in required} == {"pass"}


def test_updates_with_a_second_part_behind_them_prove_nothing():
    """Every second one, by less than half."""
    partly = trace(
        probe("plain", update(0, trained_behind=0.4), update(1), update(2, trained_behind=0.4))
    )
    rounding = trace(probe("plain", *(update(i, trained_behind=1e-6) for i in range(3))))

    assert on("params-stay-finite", partly).outcome == "inconclusive"
    assert on("params-stay-finite", rounding).outcome == "pass"


def test_updates_that_do_not_last_prove_nothing():
    """Once is a checkpoint that is loaded; mostly, something else than the optimizer trains."""
    often = trace(probe("plain", *(update(i, overwritten=2.0) for i in range(3))))
    once = trace(probe("plain", update(0), update(1), update(2, overwritten=2.0)))

    assert on("params-stay-finite", often).outcome == "inconclusive"
    assert on("params-stay-finite", once).outcome == "pass"


def test_a_record_that_cannot_be_true_proves_nothing():
    """Whatever it says."""
    seen = probe("plain", update(0)).model_copy(update={"contradiction": "it cannot be."})

    assert on("params-stay-finite", trace(seen)).outcome == "inconclusive"


def test_a_record_that_contradicts_itself_proves_nothing():
    """Gradients look right, but the parameters moved otherwise: a forged event earns no pass."""
    honest = trace(probe("plain", update(0), update(1)))
    forged = trace(probe("plain", update(0), update(1, parameters_followed=False)))

    assert on("params-stay-finite", honest).outcome == "pass"
    assert on("params-stay-finite", forged).outcome == "inconclusive"


def test_what_could_not_be_told_of_a_program_that_raised_names_the_exception():
    """Type, line and message, in one printable line of bearable length."""
    stopped = program(
        "raised", message="bad\n\x1b[31m shape " + "x" * 400, exception="ValueError", line=3
    )
    found = on(
        "accumulation-equals-large-batch",
        trace(probe("quiet").model_copy(update={"program": stopped})),
    )

    assert found.outcome == "inconclusive"
    assert "it raised ValueError at line 3 (bad [31m shape xxx" in found.sentence
    assert found.sentence.isprintable()
    assert len(found.sentence) < 400


def test_layers_that_starve_account_for_parameters_that_get_nothing():
    """Forwards that underflow leave zeros where the true gradient is tiny: nothing takes it away."""
    names = ("every-parameter-learns", "gradient-reaches-every-layer")
    found = explain_away([verdict(n, "fail") for n in names], PROPERTIES)
    assert found[0].explained_by == "gradient-reaches-every-layer"


def test_a_failure_of_a_program_that_broke_later_names_the_exception():
    """What torch raised may be what to repair first; what the program raised on purpose is not."""
    message = "one of the variables has been modified by an inplace operation"
    broke = program("raised", exception="RuntimeError", message=message, line=10, during="backward")

    def told(end):
        whole = [update(i, true=10.0 + i) for i in range(4)]
        return on("clip-before-step", trace(probe("loud", *whole, program=end)))

    assert told(broke).outcome == "fail"
    assert f"Later it raised RuntimeError at line 10 ({message})." in told(broke).sentence
    assert "Later" not in told(broke.model_copy(update={"during": None})).sentence
