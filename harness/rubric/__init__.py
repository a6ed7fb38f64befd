"""Whether an answer meets the lines of a rubric. One judge a file."""

from harness.rubric.assessing import assess
from harness.rubric.calibrating import calibrate
from harness.rubric.judge import TextJudge
from harness.rubric.naming import KINDS, Judging, judge_named

__all__ = ["KINDS", "Judging", "TextJudge", "assess", "calibrate", "judge_named"]
