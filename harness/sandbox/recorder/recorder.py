"""All probes together, attached once to a process that then runs one candidate."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import torch
from pydantic import JsonValue
from torch import Tensor, nn

from harness.domain.event import BatchYielded, Finished, Start, WorkloadNote
from harness.domain.injection import Injection
from harness.sandbox.recorder.advantages import Advantages
from harness.sandbox.recorder.averages import WeightAverages
from harness.sandbox.recorder.backwards import Backwards
from harness.sandbox.recorder.by_hand import HandUpdates
from harness.sandbox.recorder.clips import Clips
from harness.sandbox.recorder.collectives import collectives
from harness.sandbox.recorder.forwards import Forwards
from harness.sandbox.recorder.functions import Functions
from harness.sandbox.recorder.graphs import Graphs
from harness.sandbox.recorder.losses import Losses
from harness.sandbox.recorder.masked_rows import MASKS, MaskedRows
from harness.sandbox.recorder.modes import Modes
from harness.sandbox.recorder.owned import OwnOptimizers
from harness.sandbox.recorder.recurrences import Recurrences
from harness.sandbox.recorder.samplers import Samplers
from harness.sandbox.recorder.scalers import Scalers
from harness.sandbox.recorder.schedulers import Schedulers
from harness.sandbox.recorder.signs import Signs
from harness.sandbox.recorder.states import States
from harness.sandbox.recorder.statistics import Statistics
from harness.sandbox.recorder.steps import Steps
from harness.sandbox.recorder.tape import Sink, Tape
from harness.sandbox.recorder.texts import Clocks, TextStream


class Recorder:
    """Attach it, run the program inside ``recording``, finish."""

    def __init__(self, sink: Sink) -> None:
        """Write to ``sink``; torch is not patched before ``install``."""
        self.tape = Tape(sink)
        self.by_hand = HandUpdates(self.tape)
        self.steps = Steps(self.tape, self.by_hand.end)
        self.scalers = Scalers(self.tape, lambda: self.steps.count)
        self.forwards = Forwards(self.tape)
        self.forwards.learning_rates = self.steps.learning_rates
        self.owned = OwnOptimizers(self.tape)
        self.rows = MaskedRows(self.tape)
        self.functions = Functions()
        self.averages = WeightAverages(self.tape)
        self.states = States(self.tape, self.steps)
        self.advantages, self.signs = Advantages(), Signs()
        self.modes, self.statistics = Modes(), Statistics()
        self.modes.called, self.statistics.watch = self.statistics.called, self.modes.watch
        self.recurrences = Recurrences()
        self.samplers = Samplers()
        self.schedulers = Schedulers(self.tape, self.steps.trains)
        self.graphs: Graphs | None = None
        self._started = False

    def install(self) -> None:
        """Patch torch. Call it before the candidate's names are bound, so that it finds the patched
        ones.
        """
        self.steps.install()
        self.scalers.install()
        self.losses = losses = Losses()
        losses.install()
        backwards = Backwards(
            self.tape,
            self.scalers.loss_scale,
            lambda: self.forwards.unlike_the_workload or self.tape.large or self.forwards.brief,
            losses,
            self.by_hand.after_backward,
        )
        self.backwards = backwards
        backwards.met = self._came_back
        backwards.looks = self._looks_at
        self.steps.consumes = self._consumes_terms
        self.advantages.install()
        backwards.install()
        self.functions.install()
        Clips(self.tape, self.scalers.clipped).install()
        self.schedulers.install()
        self.states.install()
        self.averages.install()
        self.modes.install()
        self.statistics.install()
        self.recurrences.install()
        self.samplers.install()
        self.forwards.find_own()

    def inject(self, injection: Injection, rank: int) -> None:
        """Change the gradients of all that runs from now on."""
        self.tape.injected.injection, self.tape.injected.rank = injection, rank
        self.scalers.divisor = injection.scale_divisor
        self.schedulers.plateaus = injection != Injection()

    def track(self, model: nn.Module, name: str = "model", *, part: bool = False) -> nn.Module:
        """Record the calls of ``model``, the workload's, a part of it or another; returns it."""
        self.forwards.track(model, name, part=part)
        return model

    def own_world(self, *, whole: bool) -> None:
        """From now on nothing is the workload's: all that is trained is the program's own. ``whole``:
        whether its one text is all of it.
        """
        self.schedulers.whole = whole
        self.forwards.brief = self.tape.expects = self.losses.shapes_are_its_own = True
        self.steps.memories.watches = True
        self.look_at_graphs()

    def look_at_graphs(self) -> None:
        """From now on, see what each backward goes through and who holds it."""
        self.owned.install()
        self.graphs = self.backwards.graphs = Graphs(self.tape, self.owned.optimizers, self.scalers)
        self.graphs.constants.install()
        self.graphs.draws.install()
        self.losses.targets = self.graphs.teachers.targets
        self.forwards.came_out = self.graphs.came_out
        self.steps.consumes = self._consumes
        self.steps.evaluates = self.graphs.at_closure

    def _came_back(self) -> None:
        self.owned.met()
        self.rows.after_backward(self.owned.parameters())

    def _consumes(self, optimizer: torch.optim.Optimizer) -> None:
        if not self.steps.has_stepped(optimizer):
            self.forwards.flagged()
        if self.graphs is not None:
            self.graphs.at_step(optimizer)
            self.owned.at_step(optimizer)
            self.rows.before_step(p for g in optimizer.param_groups for p in g["params"])
        self._consumes_terms(optimizer)

    def _consumes_terms(self, optimizer: torch.optim.Optimizer) -> None:
        self.advantages.at_step(optimizer)
        self.signs.at_step(optimizer)
        self.samplers.at_step()
        self.schedulers.overwritten.at_step(optimizer)
        self.averages.at_step()

    def start(self, notes: tuple[str, ...], source: str = "", calls: tuple[str, ...] = ()) -> None:
        """Write what is about to run, and the initial parameters."""
        self._started = True
        self.rows.looks = MASKS.search(source) is not None
        about = Start(
            torch_version=torch.__version__,
            notes=notes,
            source=source,
            calls=calls,
            sampled=self.tape.large,
            own_world=self.forwards.brief,
        )
        self.tape.write(about, self.tape.values())

    def batch(self, epoch: int, index: int, loader: str = "train") -> None:
        """Write that the bound loader handed out a batch."""
        if self._started:
            self.schedulers.batches = max(self.schedulers.batches, index + 1)
            self.tape.write(BatchYielded(epoch=epoch, index=index, loader=loader))

    def note(self, name: str, **facts: JsonValue) -> None:
        """Write what a workload of another subject has to say."""
        if self._started:
            self.tape.write(WorkloadNote(name=name, facts=facts))

    @contextlib.contextmanager
    def recording(self, module: ModuleType, world_size: int) -> Iterator[None]:
        """Watch output, clocks and (on several ranks) collectives while the block runs."""
        streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = TextStream(self.tape, "stdout"), TextStream(self.tape, "stderr")
        Clocks(self.tape, module).install()
        watched = collectives(self.tape) if world_size > 1 else contextlib.nullcontext()
        try:
            with watched:
                yield
        finally:
            self.by_hand.end()
            with contextlib.suppress(ValueError, OSError):  # the program may have closed them
                sys.stdout.flush()
                sys.stderr.flush()
            sys.stdout, sys.stderr = streams

    def finish(self, finished: Finished, examine: Callable[[], str | None] | None = None) -> None:
        """Write how the program ended, with the parameters that changed last.

        ``examine``: asked after they were taken down, for what is untrue of the program's own models.
        """
        last = list(self.tape.values())
        lent = bool(self.steps.given)
        seen = self.graphs.found(lent=lent) if self.graphs is not None else {}
        with self.forwards.unwatched():
            untrue = finished.untrue or (examine() if examine is not None else None)
        found = {
            "untrue": untrue,
            "broken_off": self.steps.broken_off,
            "misfed": (*self.losses.misfed, *self._misused())[:8],
            "critics_misled": self.advantages.consumed,
            "flagged_modules": self.forwards.flagged(),
            "moved_frozen": self.steps.moved_frozen()[:8],
            "half_clipped": self.scalers.half_clipped,
            "moved_rows": self.rows.moved()[:8],
            "averaged_with_themselves": self.averages.with_themselves,
            "restored_themselves": self.states.kept,
            "states_of_others": self.states.of_others,
            "zero_factors": self.steps.zero_factors()[:8],
            "stale_statistics": self.statistics.stale(self.steps.has_trained)[:8],
            "states_cut": 0 if self.advantages.acts else self.recurrences.windows_cut,
            "rate_as_factor": self.schedulers.rate_as_factor(),
            "rates_made_equal": () if self.schedulers.has_made() else self.owned.made_equal(),
            "decayed_norms": self.owned.decayed_norms()[:8],
            "rates_undone": self.schedulers.overwritten.undone(),
            "unmoved_schedules": self.schedulers.unmoved()[:8],
            "same_orders": self.samplers.in_an_order_of_before(),
            "course": self.schedulers.course(),
            "function_ends_after": self.schedulers.ends_after(),
            "back_in_training": self.modes.undone()[:8],
            "noisy_targets": self.modes.noisy()[:8],
            "average_of_newest": self.averages.share_of_newest(),
            "averages_rounded_away": self.averages.rounded_away,
            "averages_made_again": self.averages.made_again(),
            **seen,
        }
        self.tape.write(finished.model_copy(update=found), last)

    def _looks_at(self, roots: Sequence[Tensor]) -> None:
        self.losses.look(roots)
        self.advantages.before_backward(roots)
        self.signs.before_backward(roots)
        self.modes.before_backward()
        self.recurrences.before_backward()

    def _misused(self) -> tuple[str, ...]:
        told = dict.fromkeys(self.signs.told(), True)
        if self.graphs is not None:
            lost = self.graphs.lost_weights
            told |= {
                f"a product with weights of {lost}": lost is not None,
                f"a difference of {self.graphs.crossed}": (
                    self.losses.shapes_are_its_own and self.graphs.crossed is not None
                ),
                "a part that is trained of what sample() or torch.normal drew": (
                    self.graphs.draws.cut_off
                ),
                "a network that only makes targets of the gradient of their loss": (
                    self.graphs.teachers.are_taught
                ),
            }
        return tuple(said for said, is_so in told.items() if is_so)
