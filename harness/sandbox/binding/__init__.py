"""Makes a posted program run on a CPU and mean what it meant.

A program is module-level Python with free names. ``bind`` reads it, infers from what is done with each
name what it is, and puts the workload's object of that role into the program's namespace. ``run``
executes it, and calls what it defines and never calls.

flow         reads the program into a graph: reader = statements + expressions + calls; linking, lookups
roles        what each value is: inference first, roles and plain decide; hints (in flow) ask its name
objects      what is given for a role: values are the workload's own, makers what has to be made up
resolver     from roles to objects, for the free names and parameters of one program
replaced     what the program makes itself and cannot run with
machine      spellings = devices + cuda + amp + distributed + arguments, on a CPU; mains, unread files
frameworks   packages (imports), lightning and fitting, fabric, huggingface and trainer
entry        functions that are never called, with starting and turns (code for one batch)
branches     marks in the compiled code, and what a run left out, asked after it (untaken)
program      binds and runs, with all of these; analysis is what is known before that
"""

from harness.sandbox.binding.machine.spellings import install_spellings
from harness.sandbox.binding.program import FILENAME, Bound, bind, run
from harness.sandbox.binding.starting import Call
from harness.sandbox.binding.unbound import Unbound

__all__ = ["FILENAME", "Bound", "Call", "Unbound", "bind", "install_spellings", "run"]
