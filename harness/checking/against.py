"""Two versions of a skill: which blocks, sections and claims changed, and what came of it. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.domain.check import BlockResult, SkillChange, SkillComparison
from harness.domain.scenario import Bank, Scenario
from harness.domain.skill import Example, Section, Skill


def compare(
    new: Skill,
    new_blocks: Sequence[BlockResult],
    old: Skill,
    old_blocks: Sequence[BlockResult],
    name: str,
    bank: Bank | None,
) -> SkillComparison:
    """What differs, in the new version's order; ``name`` is what the old one is called."""
    sections = tuple(_sections(new, old))
    pairs = list(_pairs(new.examples, old.examples))
    changes = (
        *_frontmatter(new, old),
        *sections,
        *_blocks(pairs),
        *_statuses(pairs, new_blocks, old_blocks),
    )
    return SkillComparison(old=name, changes=changes, scenarios=_exercised(sections, bank))


_Pair = tuple[Example | None, Example | None]


def _frontmatter(new: Skill, old: Skill) -> Iterator[SkillChange]:
    for key in dict.fromkeys([*new.frontmatter.keys, *old.frontmatter.keys]):
        now, then = new.frontmatter.texts.get(key, ""), old.frontmatter.texts.get(key, "")
        if now != then or (key in new.frontmatter.keys) != (key in old.frontmatter.keys):
            yield SkillChange(
                what="frontmatter",
                how="changed" if now and then else "added" if now else "removed",
                file=new.main,
                line=new.frontmatter.lines.get(key, 1),
                name=key,
                before=then[:200],
                after=now[:200],
            )


def _sections(new: Skill, old: Skill) -> Iterator[SkillChange]:
    before, after = _numbered(old.sections), _numbered(new.sections)
    for key, section in after.items():
        if key not in before:
            yield _section_change("added", section)
        elif before[key].text != section.text:
            yield _section_change("changed", section)
    for key, section in before.items():
        if key not in after:
            yield _section_change("removed", section)


def _numbered(sections: Sequence[Section]) -> dict[tuple[str, tuple[str, ...], int], Section]:
    """Under file, headings and which one of those with the same headings it is."""
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    found = {}
    for section in sections:
        key = (section.file, section.headings)
        found[(*key, seen[key])] = section
        seen[key] += 1
    return found


def _section_change(how: str, section: Section) -> SkillChange:
    return SkillChange.model_validate(
        {
            "what": "section",
            "how": how,
            "file": section.file,
            "line": section.line,
            "name": section.name,
        }
    )


def _pairs(new: Sequence[Example], old: Sequence[Example]) -> Iterator[_Pair]:
    """Blocks that correspond: the same code under the same marks first, then the same code, then the
    same place under the same headings.
    """
    left = list(old)
    matched: dict[int, Example] = {}
    for alike in (_is_unchanged, _has_same_code, _has_same_headings):
        for n, example in enumerate(new):
            one = next((o for o in left if n not in matched and alike(example, o)), None)
            if one is not None:
                matched[n] = one
                left.remove(one)
    yield from ((example, matched.get(n)) for n, example in enumerate(new))
    yield from ((None, gone) for gone in left)


def _is_unchanged(now: Example, then: Example) -> bool:
    return _has_same_code(now, then) and _claims(now) == _claims(then)


def _has_same_code(now: Example, then: Example) -> bool:
    return now.digest == then.digest


def _has_same_headings(now: Example, then: Example) -> bool:
    return (now.file, now.headings) == (then.file, then.headings)


def _blocks(pairs: Sequence[_Pair]) -> Iterator[SkillChange]:
    for now, then in pairs:
        if now is None and then is not None:
            yield _block_change("removed", then)
        elif now is not None and then is None:
            yield _block_change("added", now)
        elif now is not None and then is not None:
            if now.digest != then.digest:
                yield _block_change("changed", now)
            if _claims(now) != _claims(then):
                change = _block_change("changed", now)
                yield change.model_copy(
                    update={"what": "claim", "before": _claims(then), "after": _claims(now)}
                )


def _block_change(how: str, example: Example) -> SkillChange:
    return SkillChange.model_validate(
        {
            "what": "block", "how": how, "file": example.file, "line": example.line,
            "name": f"block {example.position}, {' > '.join(example.headings) or '(top)'}",
        }
    )  # fmt: skip


def _claims(example: Example) -> str:
    return ", ".join(p.mark.polarity if p.mark else "none" for p in example.parts)


def _statuses(
    pairs: Sequence[_Pair], new: Sequence[BlockResult], old: Sequence[BlockResult]
) -> Iterator[SkillChange]:
    after = {(b.file, b.position): b for b in new}
    before = {(b.file, b.position): b for b in old}
    for now, then in pairs:
        if now is None or then is None:
            continue
        here, there = after.get((now.file, now.position)), before.get((then.file, then.position))
        if here and there and here.status != there.status:
            yield _block_change("changed", now).model_copy(
                update={"what": "status", "before": there.status, "after": here.status}
            )
        elif here and there and here.status == "runs":
            yield from _faults(now, _fault(here), _fault(there))


def _faults(example: Example, now: str, then: str) -> Iterator[SkillChange]:
    """No status tells them, because the example claims nothing."""
    if bool(now) != bool(then):
        yield _block_change("added" if now else "removed", example).model_copy(
            update={"what": "fault", "before": then, "after": now}
        )


def _fault(block: BlockResult) -> str:
    found = (seen.sentence for part in block.parts for seen in part.observations if seen.fault)
    return next(found, "")[:200]


def _exercised(sections: Sequence[SkillChange], bank: Bank | None) -> dict[str, tuple[str, ...]]:
    """Scenarios whose source names a changed section, by its words."""
    found: dict[str, tuple[str, ...]] = {}
    for scenario in bank.scenarios if bank else ():
        names = tuple(c.name for c in sections if _speaks_of(scenario, c.name))
        if names:
            found[scenario.id] = names
    return found


_COMMON = frozenset(
    [
        "and",
        "the",
        "with",
        "for",
        "gradient",
        "gradients",
        "management",
        "when",
        "use",
        "what",
        "why",
        "how",
        "one",
        "all",
        "not",
        "from",
        "into",
        "training",
        "loop",
    ]
)


def _speaks_of(scenario: Scenario, section: str) -> bool:
    """The last heading's own words, all of them, in the source or the title of a scenario."""
    words = _words(section.rsplit(" > ", 1)[-1])
    return bool(words) and words <= _words(f"{scenario.source} {scenario.title}")


def _words(text: str) -> set[str]:
    found = re.findall(r"[a-z]{3,}", text.lower())
    return {_stem(word) for word in found} - _COMMON


def _stem(word: str) -> str:
    """``clipping`` and ``clip``, ``accumulated`` and ``accumulation``."""
    for ending in ("ulation", "ulating", "ulated", "ping", "ing", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
