"""A program without a scenario: what it sets out to do, as its run shows it, and where it runs."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.domain.event import BUILDS_MODELS
from harness.domain.injection import Injection
from harness.domain.record import Record
from harness.domain.regimes import AS_IT_IS, UNEVEN, Regime, fitted, thresholds
from harness.domain.scenario import Expectations, Objective, Probe, Scenario
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WORKLOADS, Cnn, Mlp, WorkloadSpec

OWN = "own-settings"
"""What stands for the scenario's id where a program is judged by its own settings."""


class OwnClip(Record):
    """How a program bounds its gradients."""

    kind: str
    """``norm``, ``value``, ``norm by parts`` or ``norm by hand``."""
    lowest: float
    """Its smallest threshold; infinite thresholds measure and do not count."""
    highest: float
    """Its largest threshold."""
    asked_whole: bool = False
    """Whether the message asks for the norm of the whole."""

    @property
    def is_global(self) -> bool:
        """Whether one call bounds the norm of the whole gradient, or should."""
        whole = self.kind in ("norm", "norm by hand")
        return whole or (self.asked_whole and self.kind == "norm by parts")


class OwnSettings(Record):
    """What a program sets out to do, as far as its run shows it."""

    micro_batches: int
    """How many micro-batches its most frequent full window holds; 0 where it made no update."""
    clip: OwnClip | None = None
    """How it bounds gradients; ``None`` where it does not."""
    clip_moves: bool = False
    """Whether each window has one threshold, and that of some is more than twice that of others."""
    measures_norm: bool = False
    """Whether it calls a clip at infinity, or a norm, to look at it."""
    optimizer: str = ""
    """Class names of its optimizers."""
    ranks: int = 1
    """Over how many ranks it trains."""
    scaler: bool = False
    """Whether an enabled GradScaler takes part."""
    autocast: str | None = None
    """Element type of autocast, if it is used."""
    schedule: bool = False
    """Whether a learning-rate schedule moves."""
    syncs_once: bool = False
    """Whether it says itself that all but the last micro-batch go without synchronisation."""
    resumes: bool = False
    """Whether it was seen to take up its weights and its place from what it had saved."""
    own_loss: bool = True
    """Whether it trains a model or on a loss of its own, so that its own loss is the objective."""

    @property
    def accumulates(self) -> bool:
        """Whether an update gathers several micro-batches."""
        return self.micro_batches > 1

    @property
    def expectations(self) -> Expectations:
        """What a right loop with these settings does."""
        clip = self.clip if self.clip is not None and self.clip.is_global else None
        moves = clip is not None and clip.lowest != clip.highest
        return Expectations(
            objectives=objectives(own_loss=self.own_loss),
            max_norm=clip.lowest if clip is not None and not moves else None,
            max_norm_between=(clip.lowest, clip.highest) if clip is not None and moves else None,
            accumulates=self.accumulates,
            unasked=True,
        )

    @property
    def sentence(self) -> str:
        """All of it in one line: ``accumulates over 4 micro-batches, clips the norm at 1, ...``."""
        if not self.micro_batches:
            return "no update was seen"
        parts = [
            f"accumulates over {self.micro_batches} micro-batches"
            if self.accumulates
            else "updates after every batch",
            _clips(self.clip, measures=self.measures_norm),
            self.optimizer,
            "a schedule" if self.schedule else "",
            "a GradScaler" if self.scaler else f"{self.autocast} autocast" if self.autocast else "",
            "1 rank" if self.ranks == 1 else f"{self.ranks} ranks",
        ]
        return ", ".join(part for part in parts if part)


def objectives(*, own_loss: bool) -> tuple[Objective, ...]:
    """The gradients that count as right."""
    return ("as-computed",) if own_loss else ("micro-batch-mean", "sample-mean")


def _clips(clip: OwnClip | None, *, measures: bool) -> str:
    if clip is None:
        return "measures the norm and does not clip" if measures else "does not clip"
    what = {
        "norm": "clips the global norm",
        "norm by hand": "clips the global norm by hand",
        "norm by parts": "clips the norm of parts",
        "value": "clips each value",
    }[clip.kind]
    limit = f"{clip.lowest:g}"
    return f"{what} at {limit}" + (f" to {clip.highest:g}" if clip.highest != clip.lowest else "")


OF_ITS_OWN = "its own file "
"""How a note begins on what lies beside the program and was read there."""

TORCHS = "torch's, as none is where it is imported from"
"""What a note says of an optimizer that an installed package no longer has."""

_ITS_OWN = re.compile(rf"^{BUILDS_MODELS}$|: library |: the program's own ")


SHORTER = "a loader of "
"""Beginning of the note on a loader that was shortened: it changes no number of a batch."""


def lent(notes: Iterable[str]) -> tuple[str, ...]:
    """Of the notes on how a program was bound those that say what it did not bring itself."""
    return tuple(note for note in notes if not _ITS_OWN.search(note))


SHAPES = ("mlp", "language", "two-part", "gan", "cnn")
"""Data and models that are lent, in the order in which they are tried."""

TEXT = "language"
"""The shape of tokens; tried first for a program that speaks of them."""

GAN = "gan"
"""The shape of two networks that are trained against each other."""

ADVERSARIES = (
    re.compile(r"\b(?:gen|generator|net_?g|G)\("),
    re.compile(r"\b(?:critic|disc|discriminator|net_?d|D)\(|\bC\((?:fake|real)"),
)
"""How a program shows that it calls both."""

TOKENS = re.compile(r"\b(?:ignore_index|input_ids|vocab_size)\b|\blen\(vocab\)")
"""How a program shows that it trains on tokens, of which some do not count."""

ONE_NUMBER = re.compile(
    r"(?:\)|\b(?:logits?|out|outputs?|preds?|scores?|y_?hat))\.squeeze\((?:dim=)?(?:-?1)?\)"
)
"""How a program shows that its model gives one column, and that its targets have none."""

CLASSES = re.compile(r"\b(?:cross_entropy|CrossEntropyLoss|nll_loss|NLLLoss)\b")
"""How a program shows that its targets are classes."""

NORMALISED = re.compile(r"isinstance\(\s*\w+,\s*[^\n]*BatchNorm")
"""How a program shows that it looks for batch norm in a model."""

CUT = re.compile(r"\bdetach\(|\bno_grad\b")
"""How a program shows above its backward that it cuts the graph: whether it does so rightly, only the
networks that it cuts can tell, and what is stretched to fit stands for none.
"""

CUT_UP = re.compile(r"\.split\([\w.]+[,)]|\brange\(0, [^\n]+, [\w.]+\):")
"""How a program shows that it cuts a batch into pieces of a size."""

PARTS = re.compile(r"\bzip\(\s*\w+\.(?:chunk|tensor_split)\((\w+)\)")
"""How a program shows that it goes through a batch in parts, and through how many."""

MOST_PARTS = 16
"""Into more than these nobody cuts what is lent."""

WINDOWS = 3
"""How many full windows one pass over the data holds at least."""

ROOM = 34
"""How many batches a program gets that made no update of those lent: as where it waits for 16."""

PASSES = 6
"""How many passes a program gets that does something else in later ones."""

LATER = re.compile(r"\bepoch\s*(?:[<>]=?|==)\s*\w")
"""How a program shows that, without a branch that it takes then."""

RANKS = re.compile(
    r"\b(?:init_process_group|DistributedDataParallel|DistributedSampler|FullyShardedDataParallel|fully_shard|no_sync"
    r"|all_reduce|no_backward_sync|ddp_(?:model|net|module))\b|\bDDP\(|\bFabric\([^)]*['\"]ddp"
)
"""How a program shows that it is made to train on several ranks."""


def situations_of(program: str, *, brings_all: bool = False) -> Iterator[Scenario]:
    """Where a program is run until it trains: on two ranks, if it is made for several, and on data of
    one shape after the other. ``brings_all``: networks, too, so that none are to be lent.
    """
    first = TEXT if TOKENS.search(program) else ""
    against = all(one.search(program) for one in ADVERSARIES)
    first = GAN if against and not brings_all else first
    shapes = sorted(SHAPES, key=lambda shape: shape != first) if first else SHAPES
    even = _rows_that_divide(program)
    lent = [(shape, WORKLOADS[shape](**even)) for shape in shapes]
    if CLASSES.search(program):
        lent.insert(1 if first else 0, ("mlp", Mlp(classes=True, **even)))
    if NORMALISED.search(program):
        lent.insert(0, ("cnn", Cnn(batch_norm=True)))
    if ONE_NUMBER.search(program):
        lent.insert(0, ("mlp", Mlp(outputs=1, plain_targets=True)))
    if not CUT.search(program.partition(".backward(")[0]):
        lent.append(("mlp", Mlp(elastic=True)))
    for ranks in (2, 1) if RANKS.search(program) else (1,):
        for workload, parameters in lent:
            there = WorkloadSpec(name=workload, parameters=parameters, world_size=ranks)
            yield OWN_SCENARIO.model_copy(update={"workload": there})


def _rows_that_divide(program: str) -> dict[str, Any]:
    """Rows of a batch, where a program cuts one into equal parts: ``x.chunk(4)``, ``x.split(32)``."""
    cut = PARTS.search(program)
    if cut is None:
        return {"uneven": False} if CUT_UP.search(program) else {}
    parts = int(cut[1]) if cut[1].isdigit() else Mlp().accumulation_steps
    return {"batch_size": 2 * parts, "uneven": False} if 1 < parts <= MOST_PARTS else {}


def blurs(program: str, place: Scenario) -> bool:
    """Whether two networks that are trained against each other would be one and the same there."""
    name, workload = place.workload.name, place.workload.parameters
    apart = name == GAN or (isinstance(workload, Mlp) and workload.elastic)
    return not apart and all(one.search(program) for one in ADVERSARIES)


def misfits(seen: ProbeTrace) -> bool:
    """Whether a program met something that it cannot train on: before it had trained, or, with data
    that are lent, at any time, as where it evaluates.
    """
    ended = seen.program
    if ended.outcome == "raised" and any(m.samples for u in seen.updates for m in u.window):
        return True
    return not seen.updates and ended.outcome in ("raised", "unbound", "not-completed")


def is_alone(seen: ProbeTrace) -> bool:
    """Whether a program, run on several ranks, asked for no group and sent nothing: each rank was a
    program by itself, as where training on several is an option that is off.
    """
    silent = all(u.rounds == 0 and u.exchanged == 0 for rank in seen.ranks for u in rank.updates)
    return seen.world_size > 1 and silent and not seen.program.grouped


def roomier(place: Scenario, seen: ProbeTrace) -> Scenario | None:
    """The same with more batches, where one pass over those lent does not hold three windows, and with
    more passes, where a count of them keeps the program from a branch.
    """
    sizes = [u.window_size for u in seen.updates if not u.short]
    there = place.workload.parameters
    lent = any(m.samples is not None or m.after_batch for u in seen.updates for m in u.window)
    wanted: dict[str, int] = {}
    if sizes and min(sizes) > 1 and WINDOWS * min(sizes) >= there.batches:
        wanted["batches"] = WINDOWS * min(sizes) + 2
    drawn = any(": loader of" in note for note in seen.program.bound)
    if not seen.updates and drawn and there.batches < ROOM:
        wanted["batches"] = ROOM
    waits = any(b.reached and (b.counted or b.thaws) for b in seen.program.unentered or ())
    idle = not seen.updates and any(note.endswith(": epochs") for note in seen.program.bound)
    if waits or idle or LATER.search(seen.program.source):  # as a loop over range(4, epochs)
        wanted["epochs"] = PASSES
    if not wanted or not (lent or idle or drawn):
        return None
    return place.model_copy(update={"workload": place.workload.with_parameters(wanted)})


def on_a_rank_more(place: Scenario) -> Scenario:
    """The same on one rank more."""
    workload = place.workload
    more = workload.model_copy(update={"world_size": workload.world_size + 1})
    return place.model_copy(update={"workload": more})


def probe_of(regime: Regime) -> Probe:
    """The execution of a program in a regime: with its own data."""
    return Probe(name=regime.name, lifts=regime.lifts, injection=regime.injection, own_data=True)


MANY_PASSES = Probe(
    name="many-passes",
    lifts="What a program does from some pass on shows only there: passes are short, and many.",
    own_data=True,
    many_passes=True,
)
"""The execution of a program in its own world that trains in another way later on."""

CLIPS = re.compile(r"clip|max_?norm|clamp\(max=1|\bmin\(1", re.IGNORECASE)
"""How a program shows that it clips."""

SETS_RATES = re.compile(r"\[['\"]lr['\"]\]\s*=[^=]")
"""How it shows that it sets rates by itself."""

BOUNDS = re.compile(r"limit|threshold|bound|\bcap\b|, 1(\.0)?\)", re.IGNORECASE)
"""What else may mean a bound of gradients."""

BY_HAND = re.compile(r"\.grad\b(\.data)?\s*(\*=|\.(mul|div|copy)_)|foreach_mul_")
"""How it changes gradients itself."""

FEW_VALUES = 2
"""A term with no more values is a number that the program chooses."""


def further_regimes(first: ProbeTrace) -> tuple[Probe, ...]:
    """What else a program is run in, once it was seen as it is: where it clips, gradients far below
    and far above its threshold. Where its loss has a term without a gradient, small gradients tell
    whether that follows the weights; where it sets rates beside a schedule by plateaus, whether these
    have any effect.
    """
    text = first.program.source
    clips = thresholds(first) or (CLIPS.search(text) and BY_HAND.search(text))
    others = fitted(first)[1:] if first.updates and clips else ()
    two_set_rates = "ReduceLROnPlateau" in text and SETS_RATES.search(text) is not None
    if not others and (two_set_rates or len(set(first.program.constant_values)) > FEW_VALUES):
        others = (UNEVEN,)
    return tuple(probe_of(regime) for regime in others if regime.injection != Injection())


OWN_SCENARIO = Scenario(
    id=OWN,
    title="A program, judged by its own settings",
    suite=OWN,
    source="",
    pressure="",
    prompt="",
    buggy="",
    reference="",
    workload=WorkloadSpec(name="mlp", parameters=Mlp()),
    probes=(probe_of(AS_IT_IS),),
    expectations=Expectations(objectives=("micro-batch-mean", "sample-mean", "as-computed")),
    properties=(),
    buggy_fails=(),
    rubric=(),
    rationalizations=(),
)
"""The situation of a program without a scenario. Its rules are not known before it was run."""


def asked_as(scenario: Scenario) -> str:
    """What a question is called: questions without a scenario of the bank share its id."""
    return scenario.title if scenario.id == OWN else scenario.id
