"""What is said of a program that is judged by its own settings."""

from harness.report.answers import lent_line


def test_files_of_its_own_are_told_apart_from_what_was_lent():
    notes = ("its own file data", "model: model", "its own file run.yaml", "calls train(model)")

    assert lent_line(notes) == "lent to it: model; calls train(model). Beside it: data, run.yaml"


def test_a_program_to_which_nothing_is_lent_still_has_its_files():
    assert lent_line(("its own file data",)) == "lent to it: nothing. Beside it: data"
    assert lent_line(()) == "lent to it: nothing"
