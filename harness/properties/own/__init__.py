"""Judging a program by what it sets out to do: no scenario says what it should."""

from harness.properties.own.grading import own_grade
from harness.properties.own.over_ranks import may_follow_the_ranks
from harness.properties.own.reading import own_settings

__all__ = ["may_follow_the_ranks", "own_grade", "own_settings"]
