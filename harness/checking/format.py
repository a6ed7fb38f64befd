"""Rules of the Agent Skills format, and who refuses what. Pure.

Sources: the specification at agentskills.io; its validator skills-ref; skill-creator's
quick_validate; the documentation of Claude Code.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import partial

from harness.checking.links import check_links
from harness.domain.check import FormatFinding
from harness.domain.skill import Frontmatter, Skill

SPECIFIED = ("name", "description", "license", "allowed-tools", "metadata", "compatibility")
CLAUDE_CODE = (
    "when_to_use", "argument-hint", "disable-model-invocation", "user-invocable", "model", "context",
    "agent", "hooks", "arguments", "effort", "paths", "shell",
)  # fmt: skip
STRICT = ("skills-ref", "skill-creator quick_validate")
LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_COMPATIBILITY = 64, 1024, 500
MOST_LINES, MOST_TOKENS, CHARACTERS_A_TOKEN = 500, 5000, 4
RESERVED = ("anthropic", "claude")


def check_format(skill: Skill) -> tuple[FormatFinding, ...]:
    """Everything, errors first within each file's order; of a page that is no skill, its links."""
    if skill.is_page:
        return tuple(check_links(skill))
    head = skill.frontmatter
    found = [*_main_file(skill)]
    if head.problem is not None:
        found.append(
            _error(skill, 1, "frontmatter", f"{head.problem[0].upper()}{head.problem[1:]}.")
        )
    else:
        found += [
            *_repeated(skill, head),
            *_keys(skill, head),
            *_name(skill, head),
            *_description(skill, head),
            *_others(skill, head),
        ]
    found += [*_parsers(skill, head), *check_links(skill), *_size(skill)]
    return tuple(found)


def _main_file(skill: Skill) -> Iterator[FormatFinding]:
    if skill.main == "skill.md":
        yield _warning(
            skill,
            1,
            "main-file",
            "The file is called skill.md; most clients look for SKILL.md.",
            ("Claude Code", "skill-creator quick_validate"),
        )
    elif skill.main.endswith("/SKILL.md"):
        inner = skill.main.removesuffix("/SKILL.md")
        yield _error(
            skill,
            1,
            "main-file",
            f"There is no SKILL.md here, but one in {inner}: name that folder.",
        )
    elif skill.main != "SKILL.md":
        yield _error(skill, 1, "main-file", f"There is no SKILL.md; {skill.main} was read instead.")


def _repeated(skill: Skill, head: Frontmatter) -> Iterator[FormatFinding]:
    for again in head.repeated:
        yield FormatFinding(
            level="error",
            file=skill.main,
            line=again.line,
            rule="key",
            sentence=f"The key {again.key} was already given on line {again.first}: YAML takes each "
            "key once, and clients differ in which of the two they read.",
            refused_by=("skills-ref",),
        )


def _keys(skill: Skill, head: Frontmatter) -> Iterator[FormatFinding]:
    for key in head.keys:
        if key in SPECIFIED:
            continue
        line = head.lines.get(key, 1)
        if key in CLAUDE_CODE:
            yield _warning(
                skill,
                line,
                "key",
                f"The key {key} is Claude Code's own: put it under metadata.",
                STRICT,
            )
        else:
            yield _error(
                skill,
                line,
                "key",
                f"The specification does not know the key {key}: put it under metadata "
                f"(known: {', '.join(SPECIFIED)}).",
            )


def _name(skill: Skill, head: Frontmatter) -> Iterator[FormatFinding]:
    name, line = head.texts.get("name", ""), head.lines.get("name", 1)
    wrong = partial(_error, skill, line, "name")
    if "name" not in head.keys:
        yield wrong("The name is missing.")
        return
    if head.shapes["name"] != "text" or not name.strip():
        yield wrong(
            "The name has to be text of 1 to 64 characters (quick_validate lets an empty one pass)."
        )
        return
    if len(name) > LONGEST_NAME:
        yield wrong(f"The name has {len(name)} characters; {LONGEST_NAME} are allowed.")
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name):
        yield _bad_characters(skill, name, line)
    if unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFKC", skill.folder):
        equal = f"The name is {name}, the folder {skill.folder}: they have to be equal."
        # quick_validate never looks at the folder's name
        yield wrong(equal).model_copy(update={"refused_by": ("skills-ref",)})
    for word in RESERVED:
        if word in name.lower():
            yield _warning(
                skill,
                line,
                "name",
                f"The name contains {word}, which some registries reserve.",
                ("Tessl",),
            )


def _bad_characters(skill: Skill, name: str, line: int) -> FormatFinding:
    sentence = "The name may hold a-z, 0-9 and single hyphens inside."
    lenient = all(part.isalnum() for part in unicodedata.normalize("NFKC", name).split("-"))
    if lenient and name == name.lower():
        return _warning(
            skill,
            line,
            "name",
            f"{sentence} skills-ref lets letters of other scripts pass.",
            ("the specification", "skill-creator quick_validate"),
        )
    return _error(skill, line, "name", sentence)


def _description(skill: Skill, head: Frontmatter) -> Iterator[FormatFinding]:
    text, line = head.texts.get("description", ""), head.lines.get("description", 1)
    if "description" not in head.keys or not text.strip():
        yield _error(
            skill, line, "description", "The description is missing: clients choose a skill by it."
        )
        return
    if len(text) > LONGEST_DESCRIPTION:
        yield _error(
            skill,
            line,
            "description",
            f"The description has {len(text)} characters; {LONGEST_DESCRIPTION} are allowed.",
        )
    if "<" in text or ">" in text:
        yield _warning(
            skill,
            line,
            "description",
            "The description holds < or >.",
            ("skill-creator quick_validate",),
        )
    if len(text) < 60 or not re.search(
        r"\b[Uu]se (?:this |it )?(?:skill )?(?:when|for|if)\b|\bwhen(?:ever)?\b", text
    ):
        yield _advice(
            skill,
            line,
            "description",
            "The description should say what the skill does and when to use it; before they decide, "
            "agents see nothing else.",
        )


def _others(skill: Skill, head: Frontmatter) -> Iterator[FormatFinding]:
    if "metadata" in head.keys and not head.map_of_texts.get("metadata", False):
        yield _warning(
            skill,
            head.lines["metadata"],
            "metadata",
            "metadata has to map text to text: put numbers in quotes.",
            ("the specification",),
        )
    text = head.texts.get("compatibility")
    if "compatibility" in head.keys and not (text and len(text) <= LONGEST_COMPATIBILITY):
        yield _error(
            skill,
            head.lines["compatibility"],
            "compatibility",
            f"compatibility has to be text of 1 to {LONGEST_COMPATIBILITY} characters.",
        )
    if "allowed-tools" in head.keys and head.shapes["allowed-tools"] != "text":
        yield _warning(
            skill,
            head.lines["allowed-tools"],
            "allowed-tools",
            "allowed-tools has to be one text with spaces between tools; Claude Code takes a list too.",
            ("skills-ref",),
        )


def _parsers(skill: Skill, head: Frontmatter) -> Iterator[FormatFinding]:
    """What one parser reads and another does not."""
    text = skill.pages[0].text
    if "---" in head.raw:
        yield _warning(
            skill,
            1,
            "frontmatter",
            "A value holds ---, at which skills-ref splits the file.",
            ("skills-ref",),
        )
    if text.startswith("\ufeff"):
        yield _warning(skill, 1, "frontmatter", "The file begins with a byte order mark.", STRICT)
    if "\r\n" in text[: len(head.raw) + 10]:
        yield _warning(
            skill, 1, "frontmatter", "Lines end in CR LF.", ("skill-creator quick_validate",)
        )


def _size(skill: Skill) -> Iterator[FormatFinding]:
    text = skill.pages[0].text
    lines, tokens = text.count("\n") + 1, len(text) // CHARACTERS_A_TOKEN
    if lines > MOST_LINES:
        yield _advice(
            skill,
            1,
            "size",
            f"The main file has {lines} lines; {MOST_LINES} are advised: move detail to references/.",
        )
    if tokens > MOST_TOKENS:
        yield _advice(
            skill,
            1,
            "size",
            f"The main file has about {tokens} tokens; {MOST_TOKENS} are advised: "
            "move detail to references/.",
        )


def _error(skill: Skill, line: int, rule: str, sentence: str) -> FormatFinding:
    return FormatFinding(
        level="error", file=skill.main, line=line, rule=rule, sentence=sentence, refused_by=STRICT
    )


def _warning(
    skill: Skill, line: int, rule: str, sentence: str, refused_by: tuple[str, ...]
) -> FormatFinding:
    return FormatFinding(
        level="warning",
        file=skill.main,
        line=line,
        rule=rule,
        sentence=sentence,
        refused_by=refused_by,
    )


def _advice(skill: Skill, line: int, rule: str, sentence: str) -> FormatFinding:
    return FormatFinding(level="advice", file=skill.main, line=line, rule=rule, sentence=sentence)
