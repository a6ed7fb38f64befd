"""What a user's message asks for in words, as far as a run can grant or refuse it.

What is not asked for in plain words is not asked for: each pattern names its subject and its demand.
"""

import re

from harness.domain.wishes import Wishes
from harness.extraction.deletions import FENCED

_FEW = r"[^.?!;]{0,60}?"
"""A few words of one sentence."""

_TOKENS = r"(?:tokens?|labels|targets|characters)\b"

_ALIKE = r"(?:the same|equal(?:ly)?|alike)"

_BIG = r"(?:one|1|a|the|single|big\w*|large\w*|full|whole|same|real)[ -](?:\w+ ){0,2}?(?:batch|forward)"

EACH_TARGET = (
    rf"\b(?:mean|average|averaged|normali[sz]ed)\b{_FEW}\b(?:over|of|across|by)\W+all\b{_FEW}\b{_TOKENS}",
    rf"\b(?:each|every|all)\b[^.?!;,]{{0,40}}?\b{_TOKENS}{_FEW}\b(?:counts?|weigh\w*)\b{_FEW}\b{_ALIKE}\b",
    rf"\b(?:sum|total)\w*\b{_FEW}\W/\W{_FEW}{_TOKENS}",
    rf"\b(?:sum|total)\w*\b{_FEW}\bdivided by{_FEW}\b(?:all|total|global){_FEW}{_TOKENS}",
    rf"\b(?:exactly|same|equals?|identical)\b[^?!]{{0,120}}\b{_BIG}\b[^?!]{{0,60}}\bmean-over-tokens\b",
    r"\bglobal (?:per-)?token[- ]mean\b",
)
"""That targets weigh the same: by their mean over all of them, or in so many words."""

_LENGTHS = (
    r"\b(?:different|differ\w*|variable|varying|var(?:y|ies))\b[^.?!]{0,30}\b(?:lengths?|tokens)\b"
    r"|\b(?:lengths?|sequences)\b[^.?!]{0,30}\b(?:different|var(?:y|ies)|go from|range|all over)\b"
    r"|\bpadd(?:ed|ing)\b[^.?!]{0,80}\b(?:length|-100)"
)
_SAME = rf"\b(?:equals?|equivalent|match(?:es)?|exactly|same)\b[^?!]{{0,160}}\b{_BIG}\b"
_SAME_AFTER = rf"\b{_BIG}\b[^?!]{{0,200}}\b(?:equals?|equivalent|match(?:es)?|exactly)\b"
_SIZES = r"\bbatch(?: size| of)? \d+[^!]{0,400}\b(?:equals?|equivalent|match(?:es)?|exactly)\b"

_GATHERS = re.compile(r"\baccum|\bmicro[- ]?batch", re.IGNORECASE)

WHOLE_NORM = (
    r"\b(?:by|the|want|like|add|use|with)\W+(?:\w+\W+){0,2}?global\W+(?:\w+\W+)?norm\b",
    r"\bglobal\W+(?:grad\w*\W+)?norm\W+clip",
    r"\bclip\w*\b[^.?!;]{0,30}\b(?:total|joint|global|overall) (?:grad\w* )?norm\b",
    r"\b(?:total|joint|global|overall) (?:grad\w* )?norm\b[^.?!;]{0,60}\b(?:is|be|gets?)\W+clip",
)
"""That the norm of the whole is clipped."""

_APART = re.compile(
    r"\b(?:each|every|per)[- ](?:\w+ )?(?:layer|tensor|parameter|group|part|module|network|block)"
    r"|\bseparately\b|\badaptive\b|\bone layer\b"
    r"|\binstead of\b[^.?!]{0,20}global|\bnot\b[^.?!]{0,20}\bglobal"
    r"|\bvalues?\b[^.?!]{0,40}\bor\b|\bor\b[^.?!]{0,40}\bvalues?\b",
    re.IGNORECASE,
)

_WATCH = r"(?:log|watch|look|measure|see|monitor|plot|record|tensorboard)\w*"
_UNCLIPPED = (
    r"(?:no clipping,? (?:please|yet|\(yet\))|(?:don't|do not) want (?:to |any )?clip\w*"
    r"|without (?:actually )?clipping|no clipping,? and i (?:don't|do not) want any)"
)
NO_CLIP = (
    rf"\b{_WATCH}\b[^?!]{{0,120}}\b{_UNCLIPPED}",
    rf"\b{_UNCLIPPED}[^?!]{{0,60}}\b{_WATCH}\b",
)
"""That gradients are looked at and not changed."""

_AS_IT_IS = (
    r"(?:(?:only|just) (?:for )?logging\b"
    r"|training (?:itself )?(?:should|must|has to|is to) (?:stay|remain|be) (?:exactly )?"
    r"(?:the same|unchanged|as it (?:is|was))"
    r"|without (?:changing|touching|affecting) (?:the |my )?(?:training|updates?|gradients?))"
)
ONLY_WATCHED = (rf"\b{_WATCH}\b[^?!]{{0,120}}\b{_AS_IT_IS}",)
"""The same, of training that does not clip as it stands."""

NORM_LOGGED = (
    rf"\b(?:{_WATCH}|print|track)\w*\b[^.?!;]{{0,80}}\bnorms?\b",
    rf"\bnorms?\b[^.?!;]{{0,60}}\b(?:{_WATCH}|print|track)(?:ed|ged)\b",
)
"""That it is to be looked at."""

NORM_BEFORE_CLIP = (
    r"\bnorms?\b[^.?!;]{0,40}\b(?:before (?:the |any |it is )?clip\w*|pre-?clip\w*|unclipped)",
    r"\b(?:pre-?clip\w*|unclipped|before (?:the )?clip\w*)[^.?!;]{0,30}\bnorms?\b",
)
"""That the norm is wanted that gradients have before a clip."""

_REST = (
    r"\b(?:left[ -]?overs?|remainder|rest(?= at the end| of the (?:epoch|batches|loader)| should)"
    r"|(?:are|is) left(?= (?:at|over|behind))"
    r"|(?:incomplete|partial|short(?:er)?|trailing|remaining|tail|last)(?: \w+)? "
    r"(?:batch(?:es)?|micro-?batch(?:es)?|update|window|group)|last few)\b"
)
_NO_MATTER = re.compile(
    rf"{_REST}[^?!]{{0,120}}\b(?:doesn't matter|does not matter|is fine|don't care|ok\b|whatever)"
    r"|(?<!n't a )(?<!not a )(?<!no )\bmultiple of\b|(?<!not )(?<!n't )\bdivisible\b"
    r"|\bdrop\w*\b[^.?!]{0,20}(?:last|trailing|incomplete|rest|tail)",
    re.IGNORECASE,
)
_AVERAGED = (
    r"(?:proper(?:ly)?,? (?:\w+ )?(?:mean|average\w*)"
    r"|mean (?:loss )?(?:over|of) (?:the|these|those|its|them)"
    r"|average\w* (?:over|of) (?:the|these|those|its|them)|averaged? properly|averaging of"
    r"|same (?:update|gradient|step) as (?:a|one) (?:\w+ )?batch (?:made )?(?:up )?of (?:just |only )?"
    r"(?:those|these|them|the (?:rest|remaining))|(?:update|step) of (?:their|its) own)"
)
REST_IS_MEAN = (
    rf"{_REST}[^?!]{{0,160}}?\b{_AVERAGED}\b",
    rf"\b{_AVERAGED}\b[^.?!]{{0,60}}{_REST}",
)
"""That the batches that are left over are averaged by their own number."""

_LITTLE = r"[^.?!,]{0,20}"
_IN_EACH_PASS = (
    rf"\b(?:every|each|all)\b{_LITTLE}\b(?:samples?|examples?|batch(?:es)?)\b{_LITTLE}"
    rf"\b(?:contribut\w*|used?|seen)\b{_LITTLE}\b(?:each|every|an|one|per) (?:epoch|pass)\b"
)
REST_USED = (
    rf"{_REST}[^.?!]{{0,80}}\b(?:used|stepped|update|not (?:be )?(?:lost|thrown|dropped|wasted))\b",
    rf"\b(?:use|step|keep)\b[^.?!]{{0,30}}{_REST}",
    r"\b(?:don't|do not) want to (?:drop|lose|waste|throw)\b",
    _IN_EACH_PASS,
)
"""That they reach the optimizer in their own pass."""


def wishes_of(question: str) -> Wishes:
    """What is asked for beside and between the code of a message."""
    said = " ".join(FENCED.sub(" ", question).replace("*", "").split())
    return Wishes(
        each_target=_says(EACH_TARGET, said) or _is_to_be_one_batch(said),
        whole_norm=_says(WHOLE_NORM, said) and not _APART.search(said),
        no_clip=_says(NO_CLIP, said) or (_says(ONLY_WATCHED, said) and "clip_grad" not in question),
        norm_logged=_says(NORM_LOGGED, said),
        norm_before_clip=_says(NORM_BEFORE_CLIP, said),
        rest_used=_says(REST_USED, said) and not _NO_MATTER.search(said),
        rest_is_mean=_says(REST_IS_MEAN, said) and not _NO_MATTER.search(said),
    )


def _says(patterns: tuple[str, ...], said: str) -> bool:
    return any(re.search(pattern, said, re.IGNORECASE) for pattern in patterns)


def _is_to_be_one_batch(said: str) -> bool:
    """Whether rows of different lengths are gathered, and are to be as if they were one batch."""
    several = re.search(_LENGTHS, said, re.IGNORECASE) and _GATHERS.search(said)
    return bool(several) and _says((_SAME, _SAME_AFTER, _SIZES), said)
