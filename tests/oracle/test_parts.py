"""What the oracle makes of two networks with an optimizer each."""

import pytest

from harness.domain.trace import Update
from tests.quality.judging import SCENARIOS, Court, Judged

GAN = SCENARIOS["gan-two-optimizers"]

CLEAR_D = "        optimizer_d.zero_grad()\n"
CLEAR_G = "        optimizer_g.zero_grad()\n"
STEP_D = "        optimizer_d.step()\n"
STEP_G = "        optimizer_g.step()\n"
CLIP_D = "torch.nn.utils.clip_grad_norm_(discriminator.parameters(), max_norm=5.0)"
CLIP_G = "torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)"
BOTH = "[*generator.parameters(), *discriminator.parameters()]"
SPLIT = """bce(real_score, torch.ones_like(real_score)).backward()
        optimizer_d.zero_grad()
        loss_d = bce(fake_score, torch.zeros_like(fake_score))
        loss_d.backward()
"""

FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "only the generator is clipped": ({CLIP_D: "0.0"}, "clip-before-step"),
    "only the discriminator is clipped": ({CLIP_G: "0.0"}, "clip-before-step"),
    "the other network is clipped": ({CLIP_G: CLIP_D}, "clip-before-step"),
    "both are clipped by one norm": (
        {CLIP_G: CLIP_G.replace("generator.parameters()", BOTH)},
        "clip-global-norm",
    ),
    "the discriminator is never cleared": ({CLEAR_D: ""}, "gradients-start-fresh"),
    "the generator is never cleared": ({CLEAR_G: ""}, "gradients-start-fresh"),
    "the discriminator is cleared after its step": (
        {CLEAR_D: "", STEP_D: STEP_D + CLEAR_D},
        "gradients-start-fresh",
    ),
    "fakes are not detached": (
        {
            "fake.detach()": "fake",
            "loss_d.backward()": "loss_d.backward(retain_graph=True)",
            CLEAR_G: "",
            CLEAR_D: CLEAR_D + CLEAR_G,
        },
        "gradients-start-fresh",
    ),
    "both step at the end on what both losses left": (
        {STEP_D: "", CLEAR_G: "", CLEAR_D: CLEAR_D + CLEAR_G, STEP_G: STEP_G + STEP_D},
        "gradients-start-fresh",
    ),
    "the real half is wiped": (
        {"loss_d = bce(real_score": "loss_d = bce(real_score", "loss_d.backward()\n": SPLIT},
        "accumulation-not-wiped",
    ),
    "the generator is never trained": ({STEP_G: ""}, "every-parameter-learns"),
}


def changed(changes: dict[str, str]) -> str:
    """The fix with every occurrence of some lines replaced."""
    program = GAN.reference
    for old, new in changes.items():
        assert old in program, old
        program = program.replace(old, new)
    return program


def of(part: str, judged: Judged, probe: int = 1) -> list[Update]:
    """The updates of one part, in the quiet probe by default."""
    return [u for u in judged.trace.probes[probe].updates if u.trains == part]


def strays(update: Update) -> list[float]:
    """How much of what was not meant for it an update consumed."""
    return [m.coefficient or 0.0 for m in update.micro_batches if not m.in_window]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_between_two_networks_is_named(court: Court, fault: str) -> None:
    """One fault, one failure, whichever of the two it befalls."""
    changes, name = FAULTS[fault]

    found = court.judged(GAN, changed(changes))

    assert found.failed == {name}, found.story()


@pytest.mark.full
def test_rows_of_both_kinds_in_one_batch_and_a_look_at_either_are_no_fault(court: Court) -> None:
    """What is only looked at learns nothing, and the other batch carried both kinds."""
    joined = (
        "scores = discriminator(torch.cat([real, fake.detach()]))\n"
        "        sure = discriminator(real).mean(), discriminator(fake.detach()).mean()\n"
        "        bce(scores, torch.cat([torch.ones(len(real), 1), torch.zeros(len(real), 1)]))"
        ".backward()\n"
    )

    found = court.judged(GAN, changed({"loss_d.backward()\n": joined}))

    assert found.code == "right", found.story()


def test_each_network_has_windows_of_its_own(court: Court) -> None:
    """Two forwards of the discriminator, one of the generator, and what went through is of no window."""
    found = court.judged(GAN, GAN.reference)

    assert {u.window_size for u in of("discriminator", found)} == {2}
    assert {u.window_size for u in of("generator", found)} == {1}
    assert all(u.recomputed and u.parameters_followed for u in found.trace.probes[1].updates)
    assert [u.index for u in found.trace.probes[1].updates] == list(range(12))


def test_what_a_generators_loss_leaves_in_the_discriminator_is_seen_in_its_next_update(
    court: Court,
) -> None:
    """Nothing of it where it was cleared, all of it where it was not."""
    clean = of("discriminator", court.judged(GAN, GAN.reference))[3]
    dirty = of("discriminator", court.judged(GAN, GAN.buggy))[3]

    assert max(map(abs, strays(clean))) < 1e-3
    assert max(strays(dirty)) == pytest.approx(1.0, abs=1e-2)


@pytest.mark.full
def test_a_penalty_on_gradients_is_read_from_the_record(court: Court) -> None:
    """What is differentiated twice no output-gradient tells; what a backward added does."""
    program = next(a.program for a in GAN.alternatives if a.name == "critic-with-penalty")

    first = of("discriminator", court.judged(GAN, program))[0]

    match = first.match("as-computed")
    assert not first.recomputed
    assert match is not None
    assert match.direction_error < 1e-5


def test_one_optimizer_for_both_networks_consumes_what_was_not_meant_for_it(court: Court) -> None:
    """Each step moves both, one of them uphill."""
    joined = "optimizer_d = optimizer_g = torch.optim.SGD(" + BOTH + ", lr=1e-3)\n"

    found = court.judged(GAN, joined + GAN.reference)

    assert found.code != "right"


HEAD, REST = GAN.reference.partition("\n    print(")[0].split(CLEAR_D)
HALVES = {
    "discriminator": HEAD + CLEAR_D + REST.partition(CLEAR_G)[0],
    "generator": HEAD + CLEAR_G + REST.partition(CLEAR_G)[2],
}


@pytest.mark.parametrize("half", HALVES)
def test_code_that_shows_one_network_alone_is_neither_right_nor_wrong(
    court: Court, half: str
) -> None:
    """A half of the fix, as an answer may quote it."""
    assert court.judged(GAN, HALVES[half]).code == "inconclusive"


def test_a_model_without_parts_is_measured_as_a_whole(court: Court) -> None:
    """Two optimizers for one model are no two networks."""
    scenario = SCENARIOS["parameter-groups"]
    program = next(a.program for a in scenario.alternatives if a.name == "two-optimizers")

    updates = court.judged(scenario, program).trace.probes[0].updates

    assert {u.trains for u in updates} == {""}
    assert {len(u.learning_rates) for u in updates} == {2}
