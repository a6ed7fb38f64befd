import math

from tests.fakes.traces import micro_batch, probe, program, rank, skipped, trace, update
from tests.properties.verdicts import on

ID = "scheduler-per-update"


def moving(*steps, **fields):
    made = [update(i, scheduler_steps=s, **fields) for i, s in enumerate(steps)]
    return trace(probe("plain", *made))


def test_once_an_update_passes():
    """The usual way."""
    assert on(ID, moving(1, 1, 1)).outcome == "pass"


def test_once_an_epoch_and_both_together_pass():
    """A schedule per epoch, alone or beside a warm-up per update."""
    assert on(ID, moving(0, 0, 1, 0, 0, 1)).outcome == "pass"
    assert on(ID, moving(1, 1, 2, 1, 1, 2)).outcome == "pass"


def test_a_schedule_as_long_as_the_updates_that_moves_once_a_pass_fails():
    """Its length follows the updates of two probes; one as long as there are passes is lawful."""

    def both(steps, *lengths):
        made = [
            probe(name, *(update(i, scheduler_steps=s, scheduled_for=n) for i, s in enumerate(of)))
            for name, of, n in zip(("short", "long"), (steps, 2 * steps), lengths, strict=True)
        ]
        return on(ID, trace(*made)).outcome

    assert both([0, 0, 0, 1], 4, 8) == "fail"
    assert both([0, 0, 0, 1], 1, 2) == "pass"
    assert both([0, 0, 0, 1], 4, 4) == "pass"
    assert both([0, 0, 0, 1], 1000, 2000) == "pass"
    assert both([1, 1, 1, 1], 4, 8) == "pass"


def test_a_schedule_as_long_as_the_micro_batches_that_moves_once_an_update_fails():
    """It never comes to its end; a horizon that follows nothing is a choice."""

    def both(*lengths):
        made = [
            probe(name, *(update(i, scheduler_steps=1, scheduled_for=n) for i in range(updates)))
            for name, updates, n in zip(("short", "long"), (2, 4), lengths, strict=True)
        ]
        return on(ID, trace(*made))

    assert both(8, 16).outcome == "fail"
    assert "1/4 of its way" in both(8, 16).sentence
    assert both(2, 4).outcome == "pass"
    assert both(8, 8).outcome == "pass"
    assert both(100, 200).outcome == "pass"


COMPUTED = program(source="schedule = make(total=epochs * len(loader))")
NAMED = program(source="schedule = make(total=16)")


def test_a_length_that_the_program_computes_need_not_be_seen_to_change():
    """One that it names may be a count by chance."""

    def one(steps, length, of):
        made = [update(i, scheduler_steps=s, scheduled_for=length) for i, s in enumerate(steps)]
        return on(ID, trace(probe("plain", *made, program=of))).outcome

    assert one([1, 1, 1, 1], 16, COMPUTED) == "fail"
    assert one([1, 1, 1, 1], 16, NAMED) == "pass"
    assert one([0, 0, 0, 0, 0, 0, 0, 1] * 2, 16, COMPUTED) == "fail"
    assert one([0, 0, 0, 0, 0, 0, 0, 1] * 2, 16, NAMED) == "pass"


def test_a_run_that_is_cut_in_a_pass_is_as_long_as_its_schedule():
    """A schedule of passes has fewer steps, one of updates moves with each of them."""

    def cut(steps, length):
        source = program("exited", source="fit()")
        made = [update(i, scheduler_steps=s, scheduled_for=length) for i, s in enumerate(steps)]
        return on(ID, trace(probe("plain", *made, program=source))).outcome

    assert cut([0, 0, 0, 1] * 3 + [0], 16) == "fail"
    assert cut([0, 0, 0, 1] * 3 + [0], 160) == "pass"
    assert cut([1] * 13, 16) == "pass"


def test_a_schedule_as_long_as_the_updates_that_also_moves_once_a_pass_fails():
    """It is ahead from the first pass on; a schedule of passes beside a warm-up is lawful."""

    def both(steps, *lengths):
        made = [
            probe(name, *(update(i, scheduler_steps=s, scheduled_for=n) for i, s in enumerate(of)))
            for name, of, n in zip(("short", "long"), (steps, 2 * steps), lengths, strict=True)
        ]
        return on(ID, trace(*made))

    assert both([1, 1, 1, 2], 4, 8).outcome == "fail"
    assert "runs past its end" in both([1, 1, 1, 2], 4, 8).sentence
    assert both([1, 1, 1, 1], 4, 8).outcome == "pass"
    assert both([1, 1, 1, 2], 5, 10).outcome == "pass"
    assert both([1, 1, 1, 2], 4, 4).outcome == "pass"
    assert both([1, 1, 1, 2], None, None).outcome == "pass"


def test_two_probes_of_one_length_do_not_hide_a_schedule_that_follows_another_count():
    """A third one differs from both, which no number that was written down could follow."""
    made = [
        probe(
            name, *(update(i, scheduler_steps=s, scheduled_for=len(of)) for i, s in enumerate(of))
        )
        for name, of in (("a", [1, 1, 2]), ("b", [1, 1, 2]), ("c", [1, 1, 1, 2]))
    ]

    assert on(ID, trace(*made)).outcome == "fail"


def test_a_step_at_the_top_of_the_loop_takes_the_first_rate_away():
    """Torch warns of it; several steps ahead of all make up for an earlier run."""

    def ahead(steps):
        first, *later = (update(i, scheduler_steps=1) for i in range(3))
        moved = first.model_copy(update={"scheduled_ahead": steps})
        return on(ID, trace(probe("plain", moved, *later)))

    assert ahead(0).outcome == "pass"
    assert ahead(1).outcome == "fail"
    assert "the first learning rate is never used" in ahead(1).sentence
    assert ahead(5).outcome == "pass"


def test_a_schedule_without_a_full_window_is_inconclusive():
    """No gradient was finite, so no window can be compared."""
    never = moving(1, 1, consumed_finite=False, matches=())
    assert on(ID, never).outcome == "inconclusive"


def test_once_a_micro_batch_fails():
    """Four times an update."""
    verdict = on(ID, moving(4, 4, 4))
    assert verdict.outcome == "fail"
    assert "moved 4 times an update (once a micro-batch)" in verdict.sentence


def test_once_for_each_rank_is_lawful():
    """A schedule counted in single-process steps."""
    made = [update(i, scheduler_steps=2) for i in range(3)]
    assert on(ID, trace(probe("plain", ranks=[rank(made), rank(made, 1)]))).outcome == "pass"


def test_once_for_each_optimizer_is_lawful():
    """Each has a schedule of its own."""
    assert on(ID, moving(2, 2, 2, optimizer="SGD, Adam")).outcome == "pass"


def test_steps_for_skipped_updates_are_told():
    """Advisory: the schedule runs ahead."""
    ahead = skipped(1).model_copy(update={"scheduler_steps": 1})
    seen = trace(probe("plain", update(0, scheduler_steps=1), ahead, update(2, scheduler_steps=1)))
    verdict = on(ID, seen)
    assert verdict.outcome == "pass"
    assert "skipped" in verdict.sentence


def test_without_a_scheduler_it_is_inconclusive():
    """None stepped."""
    assert on(ID, moving(0, 0, 0)).outcome == "inconclusive"


def test_a_schedule_that_moves_before_the_step_fails():
    """Between backward and step, in most windows; once may be a warm-up that begins above zero."""
    early = [update(i, scheduler_steps=1, scheduled_early=1) for i in range(3)]
    verdict = on(ID, trace(probe("plain", *early)))

    assert verdict.outcome == "fail"
    assert "after optimizer.step()" in verdict.sentence
    assert on(ID, trace(probe("plain", early[0], update(1), update(2)))).outcome == "pass"


def test_a_schedule_of_an_optimizer_that_never_steps_fails():
    """It was built before the optimizer was; who moves the rate himself as well is not asked."""

    def elsewhere(*rates):
        made = [
            update(i, scheduler_steps=1, scheduled_elsewhere=1, learning_rates=(rate,))
            for i, rate in enumerate(rates)
        ]
        return on(ID, trace(probe("plain", *made)))

    assert elsewhere(0.1, 0.1, 0.1).outcome == "fail"
    assert "another one, which never steps" in elsewhere(0.1, 0.1, 0.1).sentence
    assert elsewhere(0.1, 0.2, 0.3).outcome == "pass"


def at_rates(*rates, steps=1, planned=None, **fields):
    made = [
        update(i, learning_rates=(r,), scheduler_steps=steps, scheduled_for=planned)
        for i, r in enumerate(rates)
    ]
    return on(ID, trace(probe("plain", *made, **fields))).outcome


def test_a_rate_of_zero_by_the_middle_of_training_fails():
    """The length of the schedule counts passes, or one pass, or it is built anew in each."""
    assert at_rates(0.2, 0.1, 0.0, 0.0) == "fail"
    assert at_rates(0.2, 0.1, 0.0, 0.1, planned=2) == "fail"
    assert at_rates(0.1, 0.2, 0.0, 0.0, 0.0, 0.0) == "fail"


def test_a_rate_of_zero_at_the_end_or_at_the_beginning_passes():
    """A few updates may be more than were counted; warm-up begins at 0."""
    assert at_rates(0.2, 0.15, 0.1, 0.0) == "pass"
    assert at_rates(0.2, 0.15, 0.1, 0.05, 0.0, 0.01, planned=4) == "pass"
    assert at_rates(0.0, 0.1, 0.2, 0.1) == "pass"


def test_an_infinite_rate_is_not_brought_down_by_a_schedules_length():
    """What falls from there to a number, and to 0, was not counted wrongly."""
    assert at_rates(math.inf, 0.1, 0.0, 0.0) == "pass"


def test_a_schedule_that_is_made_to_come_back_and_one_of_passes_pass():
    """A cycle says no length; of two passes the second may be at 0, of a hundred the last."""
    assert at_rates(0.2, 0.0, 0.2, 0.0, 0.2) == "pass"
    assert at_rates(0.2, 0.2, 0.0, 0.0, steps=0) == "inconclusive"
    made = [
        update(i, learning_rates=(r,), scheduler_steps=i % 2)
        for i, r in enumerate((0.2, 0.2, 0.0, 0.0))
    ]
    assert on(ID, trace(probe("plain", *made))).outcome == "pass"


def test_a_length_that_the_program_left_open_is_not_held_against_it():
    """What its free name was given counts the updates of another loop."""
    given = program(bound=("model: model", "total_steps: total steps"))
    assert at_rates(0.2, 0.1, 0.0, 0.0, program=given) == "pass"


def test_a_schedule_that_is_left_with_an_old_optimizer_fails():
    """The new one stays at its rate; while the old one stepped, all was well."""

    def rebuilt(*rates, elsewhere=(0, 0, 1, 1)):
        made = [
            update(i, scheduler_steps=1, scheduled_elsewhere=e, learning_rates=(rate,))
            for i, (rate, e) in enumerate(zip(rates, elsewhere, strict=True))
        ]
        return on(ID, trace(probe("plain", *made)))

    assert rebuilt(0.2, 0.1, 0.2, 0.2).outcome == "fail"
    assert "does not step any more" in rebuilt(0.2, 0.1, 0.2, 0.2).sentence
    assert rebuilt(0.2, 0.1, 0.2, 0.1).outcome == "pass"
    assert rebuilt(0.2, 0.1, 0.2, 0.2, elsewhere=(0, 0, 0, 1)).outcome == "pass"


def test_a_schedule_that_moves_with_each_micro_batch_after_a_warm_up_fails():
    """In one pass over the data; at the end of a pass it may make up for it."""

    def late(*steps, passes):
        made = [
            update(i, scheduler_steps=s).model_copy(
                update={
                    "micro_batches": tuple(
                        micro_batch(4 * i + k, after_batch=(n, 4 * i + k)) for k in range(4)
                    )
                }
            )
            for i, (s, n) in enumerate(zip(steps, passes, strict=True))
        ]
        return on(ID, trace(probe("plain", *made))).outcome

    assert late(0, 4, 0, passes=(0, 0, 0)) == "fail"
    assert late(0, 4, 0, passes=(0, 0, 1)) == "pass"
    assert late(0, 1, 0, passes=(0, 0, 0)) == "pass"


def test_a_schedule_that_is_over_before_training_and_rises_again_fails():
    """Its length leaves out the short last windows; one that stays down, rises by next to nothing, or
    never fell, is a choice.
    """
    short = (1.0, 0.85, 0.5, 0.15, 0.01, 0.15)

    assert at_rates(*short, planned=4) == "fail"
    assert at_rates(*short, planned=6) == "pass"
    assert at_rates(*short, planned=None) == "pass"
    assert at_rates(*short, planned=4, steps=0) != "fail"
    assert at_rates(*short[:-1], planned=4) == "pass"
    assert at_rates(*short[:-1], 0.05, planned=4) == "pass"
    assert at_rates(*reversed(short), planned=4) == "pass"


def test_a_schedule_of_all_updates_that_leaves_out_the_short_ones_fails():
    """Where its length leaves them out as well both agree, and one that moves with them is right."""

    def judged(steps, length):
        made = [
            update(i, scheduler_steps=s, scheduled_for=length, short=i in (2, 5))
            for i, s in enumerate(steps)
        ]
        return on(ID, trace(probe("plain", *made))).outcome

    assert judged((1, 1, 0, 1, 1, 0), 6) == "fail"
    assert judged((1, 1, 0, 1, 1, 0), 4) == "pass"
    assert judged((1, 1, 0, 1, 1, 0), 100) == "pass"
    assert judged((1, 1, 1, 1, 1, 1), 6) == "pass"
