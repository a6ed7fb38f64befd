"""Makes a posted program run on a CPU and mean what it meant.

A program is module-level Python with free names. ``bind`` reads it, infers from what is done with each
name what it is, and puts the workload's object of that role into the program's namespace. ``run``
executes it, and calls what it defines and never calls.

reading      graph, definitions, scopes, effects, handed; reader = statements + expressions + calls
inferring    linking, arithmetic, meaning, inference, signs, callgraph; roles and plain decide, hints
             ask names; results: what a call gives that a loss comes out of; choices: texts of options
binding      values (the objects), resolver and makers (roles to objects), asked_models, criteria,
             targets, batches, forms, loaders, known (helpers of well-known scripts)
completing   entry (functions never called), turns (code for one batch), unfinished (classes posted in
             part), lightning and fitting, fabric, strategies; wrapping (who puts a model in DDP)
mapping      spellings = devices + cuda + amp + distributed + arguments; packages, inert, rewrite;
             mains (who starts a program), unread (files that are not here), enough (endless training)
watching     branches (marks in the code), untaken (what a run left out, asked after it)
             = touching + counting over sources and deciding
"""

from harness.sandbox.binding.machine.spellings import install_spellings
from harness.sandbox.binding.program import FILENAME, Bound, bind, run
from harness.sandbox.binding.starting import Call
from harness.sandbox.binding.unbound import Unbound

__all__ = ["FILENAME", "Bound", "Call", "Unbound", "bind", "install_spellings", "run"]
