"""The world of a program: names by contract, scouts for the rest, and the run itself.

table     the names and what they stand for (``names.yaml``)
reading   what can be read off a program: free names, functions that nothing calls
lending   the object for a name; spies and settings stand for what is unknown until it is used
batches   one batch as a tuple, a mapping and a tensor; answers: models and losses as they are called
roots     functions that nothing calls, with turns (code for one batch); fitting: Trainers
program   binds and runs, with all of these
"""

from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.unbound import NameScouted, Unbound
from harness.sandbox.world.program import bind
from harness.sandbox.world.roots import Call

__all__ = ["FILENAME", "Call", "NameScouted", "Unbound", "bind"]
