"""Whether an answer meets the lines of a rubric. One judge a file."""

from harness.rubric.assessing import assess
from harness.rubric.calibrating import calibrate
from harness.rubric.judge import TextJudge
from harness.rubric.naming import KINDS, JudgingOptions, judge_named

__all__ = ["KINDS", "JudgingOptions", "TextJudge", "assess", "calibrate", "judge_named"]
