"""`harness check`: doctest for skills. Every example is executed and held against what it claims.

reading      ``harness.skills`` (pure); folder (disk); session (what a block takes from its page); format
executing    completing; running (as a program without a scenario); driving and drivers/ (functions,
             losses, modules, initialisations, schedules)
judging      errors, repeated, proven (whose error it is); loop_evidence, function_evidence, statements
             -> evidence.decide
comparing    against: two versions of a skill
"""

from harness.checking.checker import check_skill

__all__ = ["check_skill"]
