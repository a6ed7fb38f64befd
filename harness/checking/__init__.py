"""`harness check`: doctest for skills. Every example is executed and held against what it claims.

reading      ``harness.skills`` (pure); folder (disk); format (rules of Agent Skills)
executing    completing, techniques, loops (the sandbox's world, the oracle, the properties);
             driving and drivers/ (everything that is no loop)
judging      loop_evidence, function_evidence, statements, pairs -> evidence.decide (all pure)
comparing    against: two versions of a skill
"""

from harness.checking.checker import check_skill

__all__ = ["check_skill"]
