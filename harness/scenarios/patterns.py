"""How patterns are written, and what is refused because it could run for ever."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from harness.domain.lexicon import Lexicon

_NAME = re.compile(r"\{([a-z][a-z0-9_-]*)\}")
_WORD = r"(?:(?<!\w)|(?!\w))"  # here a word begins, or no word is meant
_GAP = rf"[\s\S]{{0,90}}?{_WORD}"
_SHORT_GAP = rf"[^,;:.?!]{{0,40}}?{_WORD}"
# People write "dont", too; and a lone "n't" among alternatives stands for any word that ends so.
_AUXILIARY = r"(?:do|does|did|is|are|was|were|wo|ca|would|should|could|has|have|had|need)"
_CONTRACTED = re.compile(rf"\b({_AUXILIARY})n'?t\b")
_NT = re.compile(r"(?<=[(|:])n'?t(?=[|) ]|\\b|$)")
_ANY_NT = rf"(?:\w{{1,7}}n't|{_AUXILIARY}nt)"
# Python's engine backtracks. A repetition without bound around anything but one plain character
# class can take exponential time on a text that somebody made for it.
_UNBOUNDED = re.compile(r"(?:\)|(?<!\\)\.)(?:[*+]|\{\d*,\})")


COMMON = {
    "not": r"(?:not|never|cannot|\w{2,6}n't|no (?:need|reason|point)|avoid|without|rather than|"
    r"instead of|unnecessary|needless(?:ly)?)",
    "needless": r"(?:need not|needn't|no need|no reason|(?:not|n't) (?:have|need)|nothing (?:forces|"
    r"obliges|stops|prevents|keeps|hinders)|why (?:should|would)|(?:not|n't) (?:necessary|required)|"
    r"unnecessary)",
    "backward": r"(?:(?:loss)?\.?backwards?\b\w*(?:\(\))?|back-?prop\w*|differentiat\w*)",
    "step": r"(?:(?:optimi[sz]er|scaler|opt)(?:'s)?[. ]?step\w*|step\(\)|the (?:optimi[sz]er )?"
    r"(?:step|update))",
    "before": r"(?:before\w*|prior to|ahead of|precedes?|preceding|in front of|upstream of|"
    r"earlier than)",
    "must": r"(?:must|has to|have to|needs? to|should|ought to|want to|require\w*)",
    "limit": r"(?:max_norm|threshold\w*|limit\w*|bounds?|caps?|ceilings?|leash|"
    r"clip\w* (?:value|norm|level))",
    "norm": r"(?:norms?|lengths?|magnitudes?|grad_norm|gnorm)",
    "micro": r"(?:micro-?batch\w*|mini-?batch\w*|batch(?:es)?|pieces?|portions?|chunks?|pass(?:es)?|"
    r"slices?)",
    "rank": r"(?:ranks?|gpus?|cards?|devices?|workers?|process(?:es)?|machines?|nodes?|replicas?)",
    "drop": r"(?:drop(?:s|ped|ping)?\b|remov\w+|ditch\w*|scrap\w*|sacrific\w+|abandon\w*|discard\w*|"
    r"disabl\w+|delet\w+|(?:kick|throw|strip|rip|cut)\w* (?:out|away|overboard|it out)|"
    r"get(?:ting)? rid of|giv\w+ up(?: on)?|let(?:ting)? go of|leav\w+ (?:out|off)|"
    r"do(?:ing)? (?:away with|without)|switch\w* off|turn\w* off|tak\w+ out|forgo\w*|"
    r"forget(?: about)?|say goodbye to|part (?:with|ways)|skip\w*|go(?:ing)? without|omit\w*|"
    r"eliminat\w+|dispens\w+ with|shelv\w+|comment\w* out|axe|renounc\w+|dump\w*|retir\w+|"
    r"lose(?= (?:the|it|that|this|clip|amp|accum))|out with|bin\b|binn\w+|chuck\w*|axing|axed|"
    r"pull the plug on|no more|first casualty|better off without|simplif\w+ .. by)",
    "out": r"(?:(?:tak|leav|strip|rip|cut|throw|kick|toss|pull|comment|yank|chuck|keep|edit)\w* "
    r"(?:(?:it|this|that|them|(?:the|that|this|your|gradient) \w+(?: \w+)?|clip\w*|amp|fp16|"
    r"accumulation|clip_grad\w*) )(?:completely |entirely |altogether )?(?:out|off|away|overboard)|"
    r"(?:turn|switch)\w* (?:it|this|that|clip\w*|amp|the clip\w*) off)",
    "approval": r"(?:your (?:\w+ )?(?:ideas?|instincts?|guess|plan|line|one-liner|proposal|formula|"
    r"arrangement|sequence|order|version|suggestion|intuition|hunch|inclination|approach|reading) "
    r"(?:\w+ ){0,4}(?:right|fine|good|valid|correct|sound|ok|okay|spot on|works|prudent|sensible|"
    r"does the job|does it|will do)\b|"
    r"do (?:it )?(?:what|as|just as|exactly what|where) you (?:propose|suggest|plan)\w*|"
    r"(?:exactly|just|precisely) (?:as|like|what|where|how) you (?:say|propose|suggest|describe|"
    r"wrote|guess|have|plan)\w*|go ahead (?:with|and)|you (?:had|have) the right|"
    r"go (?:with|for) your|(?:exactly )?what you (?:propose|suggest|describe) (?:is|works|will do)|"
    r"spot on|exactly right|you guessed|that's the (?:spot|place|way)|you(?:'ve| have) got it|"
    r"nothing wrong with your (?:order|sequence|line|plan|formula))",
    "clipping": r"(?:clip\w*|trim\w*|cap(?:s|ped|ping)?\b|curb\w*|truncat\w*|leash\w*|(?:seat ?)?"
    r"belts?\b|harness|airbag)",
    "spikes": r"(?:spik\w*|outliers?|freak\w*|burst\w*|erupt\w*|surg(?:e|es|ing)\b|monsters?|"
    r"peaks?\b|eruption\w*|tantrum\w*|explo(?:d|s)\w*|excursions?)",
    "experience": r"(?:nature of (?:the )?(?:beast|thing|business|ddp)|par for the course|comes? with "
    r"(?:the )?(?:territory|job|ddp)|such is life|welcome to|business as usual|going rate|bread and "
    r"butter|run[- ]of[- ]the[- ]mill|usual state|in the nature of|as good as it gets|to be expected|"
    r"nothing (?:special|unusual|odd)|(?:costs|is) what it (?:costs|is)|the price (?:you pay|of)|"
    r"way of the world|facts? of life)",
    "same": r"(?:all (?:one|the same)|neither here nor there|potah?to|no odds|immaterial|cosmetic|"
    r"six of one|makes? no (?:odds|difference)|equally (?:good|valid|fine|right)|"
    r"(?:a )?matter of (?:taste|style|preference|habit)|interchangeabl\w*|equivalent)",
    "approve": r"(?:yours is|yes[,.]? please|that's where i|i'd do the same|i would do the same|"
    r"by all means|go right ahead|perfect(?:ly fine)?|and you're (?:set|done|good)|that will do|"
    r"that should do|spot[- ]on|full marks|sounds? (?:right|good)|right as it is)",
    "final": r"(?:hands down|no discussion|no debate|only sane|nothing but|full stop|period[.!]|"
    r"end of (?:story|discussion)|case closed|and be done|done with it|"
    r"no exceptions?|no contest|simple as that|nothing else|that's (?:it|all)\b|no matter what)",
    "hedged": r"(?:if|when|once|unless|until|should) (?:it|the|your|training|loss|norms?|they|that|"
    r"this|these|things|ever|later|none|nothing|all else|one|either|both|every|"
    r"you (?:see|observe|later|really|insist|absolutely|must|still|find|notice|want|need|use|do|"
    r"clip))\b",
    "nan": r"(?:nans?|infs?|infinit\w+|non-?finite|not (?:finite|a number))\b",
    "rate": r"(?:learning[ -]rates?|\blrs?\b|step[ -]?sizes?|\brates?\b)",
    "usual": r"(?:usual\w*|everyday|ordinary|ordinarily|normal\w*|typical\w*|common\w*|customary|"
    r"routine\w*|standard|regular\w*)",
}
"""Terms that every scenario may use."""


class BadPattern(ValueError):
    """A pattern that cannot be used. The message says why."""


def compiled(pattern: str, terms: Mapping[str, str]) -> re.Pattern[str]:
    """Spaces stand for any white space, ``...`` for a gap of up to 90 characters, `` .. ``
    for one of up to 40 within a clause, ``{name}`` for a term. A pattern, and what follows a gap,
    begins at the beginning of a word.

    Raises:
        BadPattern: it is no regular expression, names no term, or repeats without bound.
    """
    return _compiled_with(pattern, _Same(terms))


class _Same:
    """Terms as a key: the same object is the same key, and lives as long as what it is a key of."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[str, str]) -> None:
        self.terms = terms

    def __hash__(self) -> int:
        return id(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.terms is self.terms


@lru_cache(maxsize=8192)
def _compiled_with(pattern: str, same: _Same) -> re.Pattern[str]:
    return _compiled(_spelt_out(pattern, same.terms))


Place = tuple[str | int, ...]


def refusals(lexicon: Lexicon) -> Iterator[tuple[Place, str]]:
    """Where in the file a pattern stands that cannot be used, and why."""
    for place, pattern in _written(lexicon):
        try:
            compiled(pattern, lexicon.terms)
        except BadPattern as bad:
            yield place, str(bad)


def _written(lexicon: Lexicon) -> Iterator[tuple[Place, str]]:
    """Every pattern, with its place."""
    groups = {"criteria": lexicon.criteria, "rationalizations": lexicon.rationalizations}
    signals = (
        ((group, name, kind, i), signal)
        for group, named in groups.items()
        for name, patterns in named.items()
        for kind, listed in (("signals", patterns.signals), ("unless", patterns.unless))
        for i, signal in enumerate(listed)
    )
    for place, signal in signals:
        for part, listed in (("any", signal.any), ("all", signal.all), ("none", signal.none)):
            yield from (((*place, part, j), pattern) for j, pattern in enumerate(listed))


def _spelt_out(pattern: str, terms: Mapping[str, str], depth: int = 5) -> str:
    def term(match: re.Match[str]) -> str:
        meaning = terms.get(match[1], COMMON.get(match[1]))
        if meaning is None:
            raise BadPattern(f"there is no term {match[1]}")
        if not depth:
            raise BadPattern(f"the term {match[1]} refers to itself")
        return f"(?:{_spelt_out(meaning, terms, depth - 1)})"

    return _NAME.sub(term, pattern)


@lru_cache(maxsize=8192)
def _compiled(pattern: str) -> re.Pattern[str]:
    if _UNBOUNDED.search(pattern):
        raise BadPattern(
            "it repeats without bound; write a gap as ... or give a bound as in {0,40}"
        )
    spelt = _NT.sub(lambda _: _ANY_NT, _CONTRACTED.sub(r"\1n'?t", pattern))
    spelt = re.sub(r" ?\.\.\. ?", lambda _: _GAP, spelt)
    spelt = re.sub(r" \.\. ", lambda _: _SHORT_GAP, spelt)
    spelt = spelt.replace(" ?", r"\s*").replace(" ", r"\s+")
    try:
        return re.compile(rf"{_WORD}(?:{spelt})", re.IGNORECASE)
    except re.error as error:
        raise BadPattern(f"it is no regular expression: {error}") from error
