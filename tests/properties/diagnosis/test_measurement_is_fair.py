from tests.fakes.traces import backward, probe, program, rank, segment, trace, update
from tests.properties.verdicts import on

ID = "measurement-is-fair"
WITH, WITHOUT = segment(20, 20, 20, 20), segment(20, 20, 0, 20)


def timed(*segments, before=5):
    total = before + sum(s.backwards for s in segments)
    seen = rank([update(0)], backwards=tuple(backward() for _ in range(total)))
    return trace(probe("small", ranks=[seen], segments=segments))


def test_the_same_loop_timed_with_and_without_a_clip_passes():
    """After a warm-up that is not timed."""
    assert on(ID, timed(WITH, segment(), WITHOUT)).outcome == "pass"


def test_rounds_in_turn_are_their_own_warm_up():
    """The first pair warms the next."""
    assert on(ID, timed(WITHOUT, WITH, WITHOUT, WITH, before=0)).outcome == "pass"


def test_clipping_timed_alone_beside_a_step_passes():
    """With gradients to clip."""
    parts = (segment(1, 1), segment(0, 0, 1), segment(0, 0, 0, 1)) * 10
    assert on(ID, timed(*parts)).outcome == "pass"


def test_a_crash_in_backward_fails():
    """The graph is gone after the first."""
    text = "Trying to backward through the graph a second time (or directly access saved tensors)"
    crash = program("raised", exception="RuntimeError", message=text, line=6)
    verdict = on(ID, trace(probe("small", program=crash, segments=(segment(0, 1, 1, 1),))))
    assert verdict.outcome == "fail"
    assert "line 6" in verdict.sentence


def test_timings_of_different_work_fail():
    """One part has no forward."""
    verdict = on(ID, timed(WITH, segment(0, 20, 0, 20)))
    assert verdict.outcome == "fail"
    assert "0 forwards, 20 backwards" in verdict.sentence


def test_a_part_that_leaves_out_backward_with_the_clip_fails():
    """As many forwards, and nothing else; a validation of another length is no such part."""
    verdict = on(ID, timed(WITH, segment(20, 0, 0, 0)))

    assert verdict.outcome == "fail"
    assert "20 forwards, 0 backwards and 0 steps" in verdict.sentence
    assert on(ID, timed(WITH, segment(7, 0, 0, 0))).outcome == "inconclusive"


def test_a_clip_of_nothing_fails():
    """The gradients were cleared before."""
    empty = segment(20, 20, 20, 20, gradients=0)
    assert on(ID, timed(empty, WITHOUT)).outcome == "fail"


def test_a_part_that_pays_for_the_start_fails():
    """No step ran before the clock."""
    verdict = on(ID, timed(WITH, WITHOUT, before=0))
    assert verdict.outcome == "fail"
    assert "first thing that runs" in verdict.sentence


def test_without_clocks_it_is_inconclusive():
    """Nothing was measured."""
    assert on(ID, trace(probe("small", update(0)))).outcome == "inconclusive"


def test_clipping_nothing_again_and_again_beside_whole_steps_fails():
    """Once alone may be a snippet whose place in the loop nobody knows."""
    again, once = segment(clips=20, gradients=0), segment(clips=1, gradients=0)

    assert on(ID, timed(WITH, again)).outcome == "fail"
    assert on(ID, timed(WITH, once)).outcome == "inconclusive"


def test_a_part_that_clips_every_tenth_step_understates_the_cost():
    """Beside a part that clips each step it is one variant more."""
    tenth = segment(20, 20, 2, 20)
    verdict = on(ID, timed(tenth, segment(), WITHOUT))

    assert verdict.outcome == "fail"
    assert "2 clips" in verdict.sentence
    assert on(ID, timed(tenth, WITH, WITHOUT)).outcome == "pass"


def test_training_after_the_measurement_warms_nothing_up():
    """What ran before a part is known by its own count."""
    cold = [s.model_copy(update={"backwards_before": n}) for s, n in ((WITH, 0), (WITHOUT, 20))]

    assert on(ID, timed(*cold, before=14)).outcome == "fail"


def test_a_loader_in_one_part_only_is_no_comparison():
    """Not a fail: a loader that is repeated from memory hands out its batches once as well."""
    loading = segment(20, 20, 20, 20, batches=20)
    assert on(ID, timed(loading, WITHOUT)).outcome == "inconclusive"
    assert on(ID, timed(loading, segment(20, 20, 0, 20, batches=20))).outcome == "pass"


def test_a_part_that_loads_what_another_had_at_hand_before_fails():
    """Nothing that was kept in memory has to be loaded later."""
    bare, clipped = segment(20, 20, 0, 20), segment(20, 20, 20, 20, batches=20)
    verdict = on(ID, timed(bare, clipped))
    assert verdict.outcome == "fail"
    assert "takes its batches from the loader" in verdict.sentence


def test_a_state_that_is_put_back_onto_itself_fails():
    """The parts are alike, and the model is trained by what was to measure it."""
    sound = timed(WITH, segment(), WITHOUT).probes[0]
    verdict = on(ID, trace(sound.model_copy(update={"restored_nothing": 3})))

    assert verdict.outcome == "fail"
    assert "3 times" in verdict.sentence
