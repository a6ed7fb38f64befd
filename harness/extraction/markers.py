"""Words by which an answer says what a block is. They are read in prose and comments, not in code."""

import functools
import io
import re
import tokenize

_CROSS = "[\u274c\u2717\u2718\u2716\U0001f6ab\u26d4\U0001f44e]"
_TICK = "[\u2705\u2713\u2714\U0001f44d]"


def _any(*patterns: str) -> re.Pattern[str]:
    """One pattern for many, whatever the case of letters."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def _label(signs: str, shouted: str, said: str) -> re.Pattern[str]:
    """A comment that is a label: it begins with a sign or a shouted word, or is little else."""
    ends = r"\s*(?:way|version|order|code|loop|example)?\s*(?:[:(\-\u2013\u2014.,!\])=]|$)"
    return re.compile(rf"^[#\s=*~\-\[]*(?:{signs}|(?:{shouted})\b|(?i:(?:{said}){ends}))")


_WRONG_LABEL = _label(
    _CROSS,
    "WRONG|BAD|INCORRECT|BROKEN|BUGGY"
    r"|BEFORE(?!\s+(?i:training\b|(?:the|each|every|any|your) "
    r"(?!(?:bug\s?)?fix|change|patch|edit|repair|refactor)))"
    "|DON'?T|DO NOT|NEVER|ANTI-?PATTERN|AVOID|NOT RECOMMENDED",
    "wrong|bad|incorrect|broken|buggy|before|original|current|not recommended|anti-?pattern"
    "|not like this|don'?t|don'?t do (?:this|that)|do not do (?:this|that)|what not to do"
    r"|what you have(?: now)?|your\s*(?:current|original|posted|old)?\s*(?:code|loop|version)"
    r"|the (?:current|original|posted|old)\s*(?:code|loop|version)",
)
_RIGHT_LABEL = _label(
    _TICK,
    "RIGHT|GOOD|CORRECT|FIXED|AFTER|INSTEAD|BETTER|DO THIS",
    "right|good|correct|fixed|after|instead|better|recommended|do this(?: instead)?",
)
_WRONG_HEADING = _any(
    _CROSS,
    r"\b(?:wrong|broken|buggy|incorrect|anti-?patterns?|mistakes?|pitfalls?|traps?|not to do|why not)\b",
    r"^\W*before\W*$",
    r"^\W*(?:don'?t|do not|avoid|never)\b",
    r"\byour (?:current|original|existing) (?:code|loop|version|setup)\b",
    r"^\W*(?:\d+\W+)?(?:the )?(?:problem|bug|issue)s?\b",
)
_REMEDY = _any(r"\b(?:avoiding|preventing|undoing|resolving|solving|without)\b")
_WRONG_LEAD = _any(
    _CROSS,
    r"\b(?:don'?t|do not|never|avoid)\s+(?:do|write|use|try|writing|doing)?\s*"
    r"(?:this|that|the following|it like this|something like)\b",
    r"\b(?:is|are|was|looks?) (?:wrong|broken|buggy|a bug|incorrect|not (?:enough|correct|right))\W*$",
    r"^\W*(?:the )?(?:wrong|before|bad|broken|instead of|not this|original)"
    r"(?: way| version| order)?\W*$",
    r"\b(?:your|the) (?:current|original|existing|posted) (?:code|loop|version|snippet)\b[^.]*:\W*$",
    r"\b(?:what you have|you (?:currently|now) have|you wrote|you posted)\b",
    r"\byou(?:'re| are) (?:currently |now |actually |really |in (?:effect|essence) )?doing\b",
    r"\b(?:what|this is what) (?:happens|your (?:code|loop) does|you do) (?:now|today|at the moment"
    r"|at present|currently|right now)\b",
    r"\bsome (?:people|would|of us|repair|\"?fix)\b.*[\"\u201c'](?:fix|repair|solve)",
    r"\b(?:this|the following|here) (?:line|order|loop|code|version) (?:is|are|does) "
    r"(?:the (?:bug|problem)|not)\b",
    r"\bnot recommended\b",
)
_WORSE = _any(
    r"\b(?:would|will) (?:be|make (?:it|things|matters)) (?:even )?worse\b",
    r"\b(?:is|makes? (?:it|things|matters)|even) worse\W*$",
)
_REPAIRS = _any(
    r"\b(?:fix(?:ed|es)?|correct(?:ed|ion)?|instead(?! of)|replace|solution|should (?:be|look))\b",
    r"\b(?:becomes|change (?:it|this|that)|right (?:way|order|version))\b",
    r"^\W*(?:(?:so|then|now|just|simply|please)\s+)?(?:insert|add|append|put|paste)\b",
)
_DIAGNOSTIC = _any(
    r"\b(?:check|checks|verify|verifying|sanity|measure|measuring|profil\w+|benchmark\w*|debug\w*)\b",
    r"\b(?:diagnos\w+|inspect\w*|confirm|prove|test|testing|timing|locate|reproduce)\b",
    r"\b(?:convince|see (?:\w+ ){0,2}?for) yourself\b",
)
_DIAGNOSTIC_NAME = re.compile(
    r"(?:^|_)(?:time|timed|timing|bench|benchmark|measure|profile|verify|check|test|compare|debug"
    r"|diagnose|sanity)(?:_|$)"
)
_FINAL = _any(
    r"\b(?:complete|full|final|whole|entire|end-to-end|ready[- ]to[- ](?:run|use)|drop-in)\s+"
    r"(?:\w+\s+){0,2}?(?:loop|code|program|script|version|example|trainer|function|thing|picture"
    r"|solution|implementation|snippet)\b",
    r"\b(?:put|putting|pulling|puts) (?:it|everything|this|that|them) (?:all )?together\b",
    r"\ball together\b",
    r"\bin full\b",
)
_LOOP = "(?:loop|version|code|program|script|file|trainer|function)"
_CHOSEN = _any(
    r"^\W*(?:please\s+|just\s+|always\s+)?(?:use|run|take|paste|copy|ship)\s+this(?:\s+one)?\W*$",
    rf"\b(?:the|this)\s+(?:one|{_LOOP})\s+(?:(?:that\s+)?(?:you|we)\s+(?:should|must)|to)\s+"
    r"(?:use|run|paste|take|copy|ship|deploy)\W*$",
)
_OFFERED = _any(
    r"[,(\u2013\u2014-]\s*(?:and\s+)?(?:now\s+)?(?:ready for production|production[- ]ready)\b",
    r"\bwhat (?:you|I|we)(?:'d|'ll|\s+(?:would|should|will|can|want to|need to|have to))*\s+"
    r"(?:ship|commit|merge|deploy|keep(?!\s+(?:an|track|watch\w*|in mind)\b))\b",
    r"\b(?:use|run|keep|train with|ship)\b"
    r"(?:(?!check|verif|measur|profil|test|debug|diagnos|to see)[^.:]){0,120}?\bfrom (?:now|here) on\b",
    r"\b(?:check|verify|confirm)\s+(?:that\s+)?(?:your|the)\s+(?:\w+\s+){0,2}?"
    rf"{_LOOP}\s+(?:now\s+)?(?:looks?|reads?)\s+(?:like|as|so|exactly)\b",
    r"^\W*(?:(?:and|so|then|now|finally|here(?:'s| is)|this is|below is)\W+)*(?:your|the)\s+"
    rf"(?:final|finished|repaired|fixed|corrected|mended)\s+(?:training\s+)?{_LOOP}"
    r"\s*,?\s+(?:in which|where)\b",
)
_ALTERNATIVE = _any(
    r"\b(?:option|alternative(?:ly)?|variant|solution|approach|method|version|or(?:,| else)?|either)\b",
    r"\bif you(?:'d| would)? (?:need|want|prefer|like|can'?t|cannot|rather)\b",
)
_SAME_SETTING = (
    ("amp", "mixed precision", "fp16", "float16", "autocast"),
    ("ddp", "distributed", "multi-gpu", "multiple gpus"),
    ("bf16", "bfloat16"),
    ("fsdp", "deepspeed"),
    ("lightning",),
    ("accelerate", "hugging face", "huggingface"),
    ("tpu", "tpus"),
    ("torch.compile",),
    ("lbfgs",),
)
_SETTING = "|".join(re.escape(word) for words in _SAME_SETTING for word in words)
_ELSEWHERE = _any(
    r"\b(?:with|using|on|for|under|option\W|if you(?:'re| are)? (?:also )?(?:use|using|train|training"
    rf"|run|running|on|have|add|move|switch))\W*(?:\w+\W+){{0,3}}?(?P<setting>{_SETTING})\b",
)
_EXTRA = _any(r"\b(?:bonus|optional|optionally|going further|nice to have)\b")
_COMPARES = _any(
    r"\b(?:compar\w+|old|original|previous|posted|difference|differs?|experiment\w*|demonstrat\w+"
    r"|seeing|see|shows?|showing|ablation|baseline|again|side by side|watch\w*|proof|curious|effect"
    r"|convinc\w+|before and after|control|wrong|broken|bug|fault)\b",
)
_STEP = _any(
    r"^\W*(?:step|part)\s*\d", r"\bfix(?:es|ing)?\b", r"\bstable\b", r"\bstabili[sz]e", r"\bsafe\b"
)


def labels(code: str) -> bool:
    """Whether a comment of the block says that something in it is wrong."""
    return any(wrong for _, wrong in _labelled_lines(code))


def without_wrong_parts(code: str) -> str:
    """The code with what stands under a "wrong" label blanked out, so that lines keep their number.

    Without such a label it is the code; a "right" label ends what is wrong.
    """
    marks = _labelled_lines(code)
    if not any(wrong for _, wrong in marks):
        return code
    lines = code.split("\n")
    ends = [line for line, _ in marks[1:]] + [len(lines) + 1]
    for (start, wrong), end in zip(marks, ends, strict=True):
        if wrong:
            lines[start - 1 : end - 1] = [""] * (end - start)
    return "\n".join(lines)


def shown_as_wrong(heading: str, lead: str) -> bool:
    """Whether the words around a block call it wrong."""
    if _WORSE.search(lead):
        return True
    if _REPAIRS.search(lead):
        return False
    if _WRONG_LEAD.search(lead):
        return True
    remedies = _REPAIRS.search(heading) or _REMEDY.search(heading)
    return bool(_WRONG_HEADING.search(heading)) and not remedies


def is_diagnostic(heading: str, lead: str, *, whole: bool = False) -> bool:
    """Whether the words around a block say that it looks at something rather than trains.

    ``whole``: it is a training loop, which is none where the same words make it what is run from now on.
    """
    said = (heading, lead)
    return any(_DIAGNOSTIC.search(t) and not (whole and _OFFERED.search(t)) for t in said)


def is_diagnostic_name(name: str) -> bool:
    """Whether a function is called like a measurement: ``time_updates``, ``check_gradients``."""
    return bool(_DIAGNOSTIC_NAME.search(name.lower()))


def is_final(heading: str, lead: str) -> bool:
    """Whether a block is announced as the whole program."""
    return bool(_FINAL.search(heading) or _FINAL.search(lead))


def is_chosen(heading: str, lead: str, comment: str) -> bool:
    """Whether a block is labelled as the one to use, before it or in its first line."""
    return any(map(_CHOSEN.search, (heading, lead, comment)))


def is_alternative(heading: str, lead: str) -> bool:
    """Whether a block is offered beside another one."""
    return bool(_ALTERNATIVE.search(heading) or _ALTERNATIVE.search(lead))


def is_repair(heading: str) -> bool:
    """Whether a section is one of numbered steps, or is called a fix."""
    return bool(_STEP.search(heading))


def elsewhere(heading: str, lead: str, question: str) -> bool:
    """Whether a block is for another setting than the question's, or an extra: "with FSDP", "bonus"."""
    return is_extra(heading, lead) or is_other_setting(heading, lead, question)


def is_extra(heading: str, lead: str) -> bool:
    """Whether a block is called more than what was asked for."""
    return bool(_EXTRA.search(heading) or _EXTRA.search(lead))


def compares(heading: str, lead: str) -> bool:
    """Whether a block is there to be held against another one."""
    return bool(_COMPARES.search(heading) or _COMPARES.search(lead))


def is_other_setting(heading: str, lead: str, question: str) -> bool:
    """Whether a block is for a setting that the question does not speak of."""
    found = (m for text in (heading, lead) for m in _ELSEWHERE.finditer(text))
    return any(not _asked(m["setting"], question.lower()) for m in found)


def _asked(setting: str, question: str) -> bool:
    """Whether the question is about this setting too."""
    words = next(words for words in _SAME_SETTING if setting.lower() in words)
    return any(re.search(rf"\b{re.escape(word)}\b", question) for word in words)


@functools.lru_cache(16)
def _labelled_lines(code: str) -> tuple[tuple[int, bool], ...]:
    """1-based lines of labels at the left margin, and whether they say "wrong"."""
    found: list[tuple[int, bool]] = []
    for line, comment in _margin_comments(code):
        if _WRONG_LABEL.match(comment):
            found.append((line, True))
        elif _RIGHT_LABEL.match(comment):
            found.append((line, False))
    return tuple(found)


def _margin_comments(code: str) -> list[tuple[int, str]]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
        return [
            (t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT and t.start[1] == 0
        ]
    except (tokenize.TokenError, SyntaxError):  # pseudo code has comments too
        lines = enumerate(code.split("\n"), start=1)
        return [(number, line) for number, line in lines if line.startswith("#")]
