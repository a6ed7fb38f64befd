"""The rules of the format, and who refuses what."""

import pytest

from harness.checking.folder import load_skill
from harness.checking.format import check_format
from harness.domain.check import FormatFinding
from harness.skills import read_skill

GOOD = 'name: tiny\ndescription: "Clips gradients. Use it when a loss spikes or turns NaN while training."'


def found(
    head: str = GOOD, body: str = "", folder: str = "tiny", **more: str
) -> tuple[FormatFinding, ...]:
    texts = {"SKILL.md": f"---\n{head}\n---\n{body}", **more}
    return check_format(read_skill(folder, texts, frozenset(texts)))


def test_a_skill_in_order_gets_no_finding():
    assert found() == ()


@pytest.mark.parametrize(
    ("head", "rule", "level"),
    [
        (GOOD.replace("tiny", "Tiny"), "name", "error"),
        (GOOD.replace("tiny", "tiny--two"), "name", "error"),
        (GOOD.replace("tiny", "x" * 65), "name", "error"),
        (
            'name: ""\ndescription: "Use it when a loss spikes or turns NaN while a network trains."',
            "name",
            "error",
        ),
        ("name: tiny", "description", "error"),
        ("name: tiny\ndescription: ''", "description", "error"),
        (f"name: tiny\ndescription: Use when {'x' * 1024}", "description", "error"),
        (GOOD + "\nversion: 1", "key", "error"),
        (GOOD + "\nwhen_to_use: always", "key", "warning"),
        (GOOD + "\nmetadata:\n  version: 1", "metadata", "warning"),
        (GOOD + f"\ncompatibility: {'x' * 501}", "compatibility", "error"),
        (GOOD + "\nallowed-tools: [Read]", "allowed-tools", "warning"),
        (GOOD.replace("spikes", "<spikes>"), "description", "warning"),
        ("name: tiny\ndescription: Short.", "description", "advice"),
        ("name: [", "frontmatter", "error"),
    ],
)
def test_a_broken_rule_is_named(head, rule, level):
    assert (rule, level) in [(f.rule, f.level) for f in found(head)]


@pytest.mark.parametrize(
    ("head", "line", "key", "first"),
    [
        (f"{GOOD}\nname: tiny", 4, "name", 2),
        (f"{GOOD}\n'name': tiny", 4, "name", 2),
        (f'{GOOD}\nmetadata:\n  a: "1"\n  b: "2"\n  a: "3"', 7, "a", 5),
        (f'{GOOD}\nmetadata: {{a: "1", a: "2"}}', 4, "a", 4),
    ],
    ids=["at the top", "quoted", "in a map", "in one line"],
)
def test_a_key_that_is_given_twice_is_an_error_at_its_second_line(head, line, key, first):
    """The last one won, and nothing was said."""
    (finding,) = found(head)

    assert (finding.level, finding.file, finding.line) == ("error", "SKILL.md", line)
    assert finding.sentence.startswith(f"The key {key} was already given on line {first}")


@pytest.mark.parametrize(
    "more",
    ['metadata: &m\n  a: "1"\ncompatibility: b', 'metadata:\n  name: "1"'],
    ids=["an anchor", "the same key one level deeper"],
)
def test_keys_of_different_maps_may_be_equal(more):
    assert found(f"{GOOD}\n{more}") == ()


def test_the_name_is_that_of_the_folder():
    (finding,) = found(folder="other")
    assert (finding.rule, finding.line) == ("name", 2)
    assert "tiny" in finding.sentence
    assert "other" in finding.sentence


def test_a_folder_of_skills_is_told_where_the_skill_is():
    """It was said that there is no SKILL.md, and that SKILL.md was read."""
    texts = {"tiny/SKILL.md": f"---\n{GOOD}\n---\n"}
    finding, *_ = check_format(read_skill("skills", texts, frozenset(texts)))

    assert (finding.level, finding.rule) == ("error", "main-file")
    assert finding.sentence == "There is no SKILL.md here, but one in tiny: name that folder."


def test_keys_of_one_client_name_those_that_refuse_them():
    (finding,) = found(GOOD + "\nwhen_to_use: always")
    assert finding.refused_by == ("skills-ref", "skill-creator quick_validate")


def test_a_link_to_a_missing_file_or_heading_is_an_error_at_its_line():
    body = "\n[a](references/a.md)\n\n[b](references/b.md#part)\n\n[c](#nowhere)\n"
    findings = found(body=body, **{"references/b.md": "# Other part\n"})
    assert [(f.line, f.rule) for f in findings] == [
        (6, "reference"),
        (8, "reference"),
        (10, "reference"),
    ]


def test_a_link_that_leads_somewhere_is_fine():
    body = "[b](references/b.md#part-one) [c](#top)\n\n# Top\n"
    assert found(body=body, **{"references/b.md": "# Part one\n"}) == ()


def test_a_long_main_file_is_advised_against():
    assert [(f.rule, f.level) for f in found(body="word\n" * 600)] == [("size", "advice")]


HEADS = (
    GOOD,
    GOOD.replace("tiny", "Tiny"),
    GOOD.replace("tiny", "tiny--two"),
    GOOD.replace("tiny", "-tiny"),
    GOOD.replace("tiny", "other"),
    GOOD.replace("tiny", "x" * 65),
    "description: Use it when a loss spikes or turns NaN while a network trains.",
    "name: tiny",
    'name: tiny\ndescription: ""',
    f"name: tiny\ndescription: Use when {'x' * 1024}",
    GOOD + "\nversion: 1",
    GOOD + "\nwhen_to_use: always",
    GOOD + "\nlicense: MIT",
    GOOD + '\nmetadata:\n  version: "1"',
    GOOD + f"\ncompatibility: {'x' * 501}",
    GOOD + "\nname: tiny",
    "name: tiny\ndescription: Use this skill whenever a loss spikes or turns NaN while it trains.",
)


@pytest.mark.parametrize("head", HEADS)
def test_what_the_reference_validator_refuses_is_told_as_refused_by_it(head, tmp_path):
    validator = pytest.importorskip("skills_ref", reason="a package of the extra dev")
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\nText.\n")

    told = [f for f in check_format(load_skill(folder)) if "skills-ref" in f.refused_by]
    assert bool(told) == bool(validator.validate(folder))


def test_a_description_that_says_whenever_says_when():
    head = (
        "name: tiny\ndescription: Use this skill whenever a loss spikes or turns NaN in training."
    )
    assert found(head) == ()


def test_a_name_that_differs_from_its_folder_is_refused_by_those_who_look_at_the_folder():
    (finding,) = found(folder="other")
    assert finding.refused_by == ("skills-ref",)


def test_an_image_that_is_not_there_is_a_broken_link():
    (finding,) = found(body="![curve](assets/curve.png)\n")
    assert (finding.rule, finding.line) == ("reference", 5)
