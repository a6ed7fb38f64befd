import pytest

from tests.fakes.traces import learning, probe, program, trace, update
from tests.properties.verdicts import on

ID = "diagnosis-is-right"
WHERE = {"healthy_probe": "healthy", "unhealthy_probe": "vanishing"}
HEALTHY = {"net.0.weight": (2.913e-7,), "net.2.weight": (3.124e-7,), "net.4.weight": (5.551e-7,)}
VANISHING = {"net.0.weight": (3.217e-9,), "net.2.weight": (4.412e-5,), "net.4.weight": (0.4182,)}
TRUE = {"healthy": HEALTHY, "vanishing": VANISHING}


def saying(write, truths=TRUE):
    return trace(
        *(
            probe(
                name,
                update(0),
                program=program(texts=tuple(write(n, v[0]) for n, v in norms.items())),
                learning=learning(printed_norms=norms),
            )
            for name, norms in truths.items()
        )
    )


def test_norms_layer_by_layer_pass():
    """Rounded as they were printed."""
    verdict = on(ID, saying(lambda n, v: f"{n}: {v:.2e}"), **WHERE)
    assert verdict.outcome == "pass"
    assert "layers get 0.524" in verdict.sentence


def test_a_ratio_of_early_to_late_passes():
    """One number is enough if it is the right one."""
    ratios = {"healthy": "ratio 0.525", "vanishing": "ratio 7.69e-09"}
    seen = [
        probe(n, update(0), program=program(texts=(t,)), learning=learning(printed_norms=TRUE[n]))
        for n, t in ratios.items()
    ]
    assert on(ID, trace(*seen), **WHERE).outcome == "pass"


def test_averages_of_norms_over_the_run_are_true_norms():
    """A report at the end prints nothing else."""
    norms = {
        name: {layer: (v[0], 2.0 * v[0], 6.0 * v[0]) for layer, v in of.items()}
        for name, of in TRUE.items()
    }

    def averaged(n, first):
        return f"{n}: {3.0 * first:.3e}"

    assert on(ID, saying(averaged, norms), **WHERE).outcome == "pass"


@pytest.mark.parametrize(("growth", "expected"), [(0.0, "pass"), (0.1, "inconclusive")])
def test_a_number_that_is_printed_again_has_to_be_true_again(growth, expected):
    """A guess that never changes equals some norm at some moment by chance."""
    moments = range(8)
    norms = {
        name: {layer: tuple(v[0] * (1 + growth * k) for k in moments) for layer, v in of.items()}
        for name, of in TRUE.items()
    }

    def repeated(n, first):
        return "\n".join(f"step {k}: {n} {first:.3e}" for k in moments)

    assert on(ID, saying(repeated, norms), **WHERE).outcome == expected


def test_one_number_for_the_whole_model_fails():
    """It depends on units."""
    seen = [
        probe(
            name,
            update(0),
            program=program(texts=(f"grad norm {whole(norms):.4e}",)),
            learning=learning(printed_norms=norms),
        )
        for name, norms in {"healthy": alike(1e-7), "vanishing": alike(1e-2)}.items()
    ]
    verdict = on(ID, trace(*seen), **WHERE)
    assert verdict.outcome == "fail"
    assert "Only the norm of the whole gradient" in verdict.sentence


def test_a_norm_of_the_whole_that_looks_like_a_layers_is_still_the_wholes():
    """With two digits a layer that dominates cannot be told from all of them."""
    seen = [
        probe(
            name,
            update(0),
            program=program(texts=(f"grad norm {whole(norms):.1e}",)),
            learning=learning(printed_norms=norms),
        )
        for name, norms in {"healthy": alike(1e-7), "vanishing": VANISHING}.items()
    ]

    verdict = on(ID, trace(*seen), **WHERE)

    assert f"{whole(VANISHING):.1e}" == f"{VANISHING['net.4.weight'][0]:.1e}"
    assert verdict.outcome == "fail"
    assert "Only the norm of the whole gradient" in verdict.sentence


def alike(size):
    return {f"net.{i}.weight": (size * (3.1 + i),) for i in range(3)}


def whole(norms):
    return sum(v[0] ** 2 for v in norms.values()) ** 0.5


def test_zeros_for_small_norms_fail():
    """Fixed decimals make healthy gradients look like none."""
    verdict = on(ID, saying(lambda n, v: f"{n}: {v:.4f}"), **WHERE)
    assert verdict.outcome == "fail"
    assert "scientific notation" in verdict.sentence


def test_a_zero_in_scientific_notation_was_not_rounded():
    """It had been blamed on decimals."""
    verdict = on(ID, saying(lambda n, v: f"{n}: {0.0:.3e}"), **WHERE)

    assert verdict.outcome == "fail"
    assert "read where there are none" in verdict.sentence


def test_norms_that_look_alike_on_both_fail():
    """The late layers' share was not told apart."""
    same = {"healthy": alike(1e-7), "vanishing": alike(1e-3)}
    assert on(ID, saying(lambda n, v: f"{v:.3e}", same), **WHERE).outcome == "fail"


@pytest.mark.full
def test_true_norms_among_a_thousand_other_numbers_are_no_diagnosis():
    """Nobody could tell which of them are meant."""
    spam = " ".join(f"{m / 100:.2f}e{e:+d}" for e in range(-10, 1) for m in range(100, 1000, 7))
    verdict = on(ID, saying(lambda n, v: f"{n}: {v:.2e} {spam}"), **WHERE)

    assert verdict.outcome == "inconclusive"


def test_printing_nothing_is_inconclusive():
    """There is no diagnosis to judge."""
    assert on(ID, saying(lambda n, v: n), **WHERE).outcome == "inconclusive"


def test_printing_numbers_that_are_no_norms_is_inconclusive():
    """A loss is no norm."""
    assert on(ID, saying(lambda n, v: "loss 1.52"), **WHERE).outcome == "inconclusive"


def test_without_two_probes_it_is_inconclusive():
    """Nothing to tell apart."""
    assert on(ID, saying(lambda n, v: f"{v:.2e}")).outcome == "inconclusive"


ALARM = """
for step, batch in enumerate(loader):
    verdict = "VANISHING" if ratio < 1e-3 else "healthy: all layers get their share"
"""


def test_an_all_clear_for_vanishing_gradients_fails_whatever_numbers_stand_beside_it():
    """The program has an alarm, and it did not come. Without one of its own nothing is said."""

    def write(n, v):
        return f"{n}: {v:.2e} healthy"

    def judged(source, text):
        seen = saying(text)
        ill = seen.probes[1]
        ran = ill.program.model_copy(update={"source": source})
        return on(
            ID, trace(seen.probes[0], ill.model_copy(update={"program": ran})), **WHERE
        ).outcome

    assert judged(ALARM, write) == "fail"
    assert judged(ALARM, lambda n, v: f"{n}: {v:.2e} vanishing, others healthy") == "pass"
    assert judged("print('no vanishing gradients here')", write) == "pass"
    assert judged('"""Tells vanishing gradients."""', write) == "pass"
    assert judged("not python (", write) == "pass"


def test_the_same_words_and_sizes_on_both_fail_where_gradients_are_read():
    """Normalised layer by layer, all layers look alike. A loss alone is no diagnosis."""
    seen = saying(lambda n, v: f"{n}: {0.3 + len(n) / 100:.3f}")

    def judged(source):
        probes = [
            p.model_copy(update={"program": p.program.model_copy(update={"source": source})})
            for p in seen.probes
        ]
        return on(ID, trace(*probes), **WHERE).outcome

    assert judged("size = p.grad.abs().mean() / p.grad.abs().max()") == "fail"
    assert judged("print(loss)") == "inconclusive"


def test_a_number_that_is_a_true_ratio_now_and_then_is_no_ratio():
    """A loss, or the norm of a weight, meets one of many true ratios by chance."""
    moments = tuple(2e-7 * 1.3**k for k in range(12))
    norms = {
        "net.0.weight": moments,
        "net.2.weight": tuple(1.0 for _ in moments),
        "net.4.weight": tuple(1.0 for _ in moments),
    }
    texts = tuple(f"step {k}: ratio {2e-7 * 1.3 ** (k % 3) * (1 + k):.3e}" for k in range(12))
    seen = [
        probe(n, update(0), program=program(texts=texts), learning=learning(printed_norms=norms))
        for n in ("healthy", "vanishing")
    ]

    assert on(ID, trace(*seen), **WHERE).outcome == "inconclusive"


VERDICTS = {
    "a condition": "state = 'VANISHING' if norm < 1e-5 else 'ok'",
    "two branches": "if few:\n    print(f'vanishing {few} of {net}')\nelse:\n    print('all layers healthy')",
    "two returns": "def say(n):\n    if n < 1e-5:\n        return 'VANISHING'\n    return 'ok'",
    "a name": "state = 'ok'\nif norm < 1e-5:\n    state = 'vanishing!'",
}


@pytest.mark.parametrize("source", VERDICTS.values(), ids=VERDICTS)
def test_an_alarm_on_the_healthy_workload_fails_whatever_numbers_stand_beside_it(source):
    """A fixed threshold is one of units. A program without other words prints a heading."""

    def judged(source, text):
        seen = saying(text)
        well = seen.probes[0]
        ran = well.program.model_copy(update={"source": source})
        healthy = well.model_copy(update={"program": ran})
        return on(ID, trace(healthy, seen.probes[1]), **WHERE).outcome

    assert judged(source, lambda n, v: f"{n} {v:.2e} VANISHING!") == "fail"
    assert judged(source, lambda n, v: f"{n} {v:.2e} ok: all layers healthy") == "pass"
    heading = "if verbose:\n    print('vanishing?')\nelse:\n    pass"
    assert judged(heading, lambda n, v: f"{n} {v:.2e} vanishing?") == "pass"


def test_words_that_both_branches_say_are_no_all_clear():
    """Each line began with the step, so the alarm was believed to have been left out."""
    source = "if few:\n    print(f'step {n}: vanishing in {few}')\nelse:\n    print(f'step {n}: healthy')"
    seen = saying(lambda n, _: f"step 1: vanishing in {n}")
    well = seen.probes[0]
    ran = well.program.model_copy(update={"source": source})
    healthy = well.model_copy(update={"program": ran})
    assert on(ID, trace(healthy, seen.probes[1]), **WHERE).outcome == "fail"


def test_a_loss_that_is_rounded_to_zero_beside_the_whole_norm_is_no_early_layer():
    """With two digits the whole norm is that of the layer that dominates."""
    seen = [
        probe(
            name,
            update(0),
            program=program(texts=(f"loss 0.0000 grad norm {whole(norms):.1e}",)),
            learning=learning(printed_norms=norms),
        )
        for name, norms in {"healthy": dominated(1e-7), "vanishing": dominated(1e-6)}.items()
    ]

    assert on(ID, trace(*seen), **WHERE).outcome == "fail"


def dominated(size):
    return {f"net.{i}.weight": (size * 3.1 * 50.0**i,) for i in range(3)}


def measured(statistic):
    """Both probes with a statistic that no norm of a moment shows, and what it is at the end."""
    factors = (1.0, 3.0, 2.0, 7.0, 4.0)
    norms = {
        where: {f"net.{2 * i}.weight": tuple(f * v[0] * (1 + 0.3 * i) for f in factors)
                for i, v in enumerate(of.values())}
        for where, of in TRUE.items()
    }  # fmt: skip
    return norms, {w: {n: statistic(v) for n, v in of.items()} for w, of in norms.items()}


def smoothed(values, decay=0.9):
    mean = values[0]
    for value in values:
        mean = decay * mean + (1 - decay) * value
    return mean


def told(norms, printed, **fields):
    seen = [
        probe(
            where,
            update(0),
            program=program(texts=tuple(f"{n:>13} {v:.3e}" for n, v in printed[where].items())),
            learning=learning(printed_norms=norms[where], **fields.get(where, {})),
        )
        for where in norms
    ]
    return on(ID, trace(*seen), **WHERE)


def test_moving_averages_layer_by_layer_pass():
    """One decay for all of them, from the first norm or from nothing."""
    norms, printed = measured(smoothed)
    assert told(norms, printed).outcome == "pass"


def test_moving_averages_of_something_else_are_not_recognised():
    """Norms that one layer alone is given wrongly, or all by a factor."""
    norms, printed = measured(smoothed)
    one = {w: {**of, "net.4.weight": 1.05 * of["net.4.weight"]} for w, of in printed.items()}
    other = {w: {n: 1.31 * v for n, v in of.items()} for w, of in printed.items()}

    assert told(norms, one).outcome == "inconclusive"
    assert told(norms, other).outcome == "inconclusive"


def test_norms_over_those_of_the_weights_pass():
    """Layer by layer, as they were when they were printed."""
    norms, printed = measured(lambda values: values[-1] / 23.0)
    fields = {
        where: {"printed_statistics": {"over-weights": {n: (v,) for n, v in of.items()}}}
        for where, of in printed.items()
    }
    wrong = {w: {n: v * (1.0 + 0.1 * i) for i, (n, v) in enumerate(of.items())}
             for w, of in printed.items()}  # fmt: skip

    assert told(norms, printed, **fields).outcome == "pass"
    assert told(norms, wrong, **fields).outcome == "inconclusive"
    assert told(norms, printed).outcome == "inconclusive"


def test_norms_beside_the_names_of_other_parameters_fail():
    """Names in one order, norms in the other."""
    names = [f"net.{2 * k}.weight" for k in range(4)]
    sizes = {"healthy": (2.913e-7, 3.124e-7, 4.017e-7, 5.551e-7)}
    sizes["vanishing"] = (3.217e-9, 4.412e-5, 3.018e-3, 0.4182)
    truths = {n: dict(zip(names, ((v,) for v in of), strict=True)) for n, of in sizes.items()}
    other = {n: dict(zip(names, reversed(of.values()), strict=True)) for n, of in truths.items()}

    def printed(shown):
        return trace(
            *(
                probe(
                    name,
                    update(0),
                    program=program(texts=tuple(f"{n}: {v[0]:.3e}" for n, v in of.items())),
                    learning=learning(printed_norms=truths[name]),
                )
                for name, of in shown.items()
            )
        )

    verdict = on(ID, printed(other), **WHERE)
    assert verdict.outcome == "fail"
    assert "another parameter" in verdict.sentence
    assert on(ID, printed(truths), **WHERE).outcome == "pass"
