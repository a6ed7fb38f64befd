"""Two programs side by side."""

from harness.report.differing import in_one_column, side_by_side

MANY = [f"line {n}" for n in range(20)]


def rows(old: list[str], new: list[str]) -> list[tuple]:
    found = side_by_side("\n".join(old), "\n".join(new))
    return [(row.kind, row.old, row.new) for row in found]


def test_lines_that_differ_stand_beside_each_other_with_three_around_them():
    """What is the same further away is counted."""
    found = rows(MANY, [*MANY[:10], "other", *MANY[11:]])

    assert found[0] == ("left out", "... 7 lines as before", None)
    assert found[4] == ("differs", "line 10", "other")
    assert found[-1] == ("left out", "... 6 lines as before", None)
    assert len(found) == 9


def test_a_line_that_moved_is_gone_in_one_place_and_new_in_another():
    """A clip behind the step."""
    assert rows(["clip", "step", "log"], ["step", "log", "clip"]) == [
        ("differs", "clip", None),
        ("same", "step", "step"),
        ("same", "log", "log"),
        ("differs", None, "clip"),
    ]


def test_programs_that_are_the_same_are_said_to_be():
    """The judgement changed for another reason."""
    assert rows(["a", "b"], ["a", "b"]) == [
        ("left out", "the programs are the same, 2 lines", None)
    ]
    assert [*in_one_column("a", "a")] == ["the programs are the same"]
