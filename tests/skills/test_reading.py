"""SKILL.md as sections, examples, references and frontmatter."""

import pytest

from harness.skills import read_page, read_skill

PAGE = """---
name: tiny
description: "Clips: use it when a loss spikes"
---

# Tiny

Intro with a [link](references/more.md#part) and the [web](https://example.org).

## Clipping

**Correct order:**

```python
loss.backward()
```

1. In a list:
   ```python
   # WRONG: too late
   optimizer.step()
   ```

### Deep

```text
not code
```

```python
x = 1
```
"""


def test_a_page_gives_its_python_blocks_with_place_heading_and_sentence():
    first, second, third = read_page("SKILL.md", PAGE).examples
    assert (first.position, first.line, first.end) == (1, 14, 16)
    assert first.headings == ("Tiny", "Clipping")
    assert first.before == "Correct order:"
    assert second.before == "In a list:"
    assert second.code == "# WRONG: too late\noptimizer.step()\n"
    assert third.headings == ("Tiny", "Clipping", "Deep")
    assert third.before == ""


def test_lines_count_from_the_top_of_the_file_frontmatter_included():
    page = read_page("SKILL.md", PAGE)
    lines = PAGE.splitlines()
    assert [lines[e.line - 1].strip() for e in page.examples] == ["```python"] * 3
    assert [lines[s.line - 1] for s in page.sections if s.headings] == [
        "# Tiny",
        "## Clipping",
        "### Deep",
    ]
    assert [lines[e.parts[0].line - 1].strip() for e in page.examples] == [
        "loss.backward()",
        "# WRONG: too late",
        "x = 1",
    ]


def test_the_same_code_has_the_same_digest_wherever_it_stands():
    one = read_page("a.md", "```python\nx = 1\n```\n").examples[0]
    other = read_page("b.md", "# Far below\n\n\n```py\nx = 1\n```\n").examples[0]
    assert one.digest == other.digest
    assert one.digest != read_page("a.md", "```python\nx = 2\n```\n").examples[0].digest


def test_links_to_files_are_references_and_links_to_the_web_are_not():
    page = read_page("SKILL.md", PAGE)
    assert [(r.target, r.line) for r in page.references] == [("references/more.md#part", 8)]


def test_a_link_to_nothing_leads_nowhere():
    assert [r.target for r in read_page("a.md", "[later]()").references] in ([], [""])


def test_anchors_are_named_as_github_names_them():
    page = read_page("a.md", "# Why `x`? (a, b)\n\n# Twice\n\n# Twice\n")
    assert page.anchors == {"why-x-a-b", "twice", "twice-1"}


def test_frontmatter_tells_text_from_other_things_and_where_keys_stand():
    head = read_skill(
        "tiny", {"SKILL.md": "---\nname: 12\nmetadata:\n  a: 1\n---\n"}, frozenset()
    ).frontmatter
    assert head.shapes == {"name": "number", "metadata": "map"}
    assert head.map_of_texts == {"metadata": False}
    assert head.lines == {"name": 2, "metadata": 3}


def test_frontmatter_that_is_no_yaml_says_where():
    head = read_skill("tiny", {"SKILL.md": "---\nname: a: b\n---\n"}, frozenset()).frontmatter
    assert head.problem is not None
    assert "line 2" in head.problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\nname: a\n# A\n", "the frontmatter has no end: a second line of --- is missing"),
        ("# A\n", "there is no frontmatter: the first line has to be ---"),
        (
            "---\ndescription: 2026-13-45\n---\n",
            "the frontmatter is no YAML: month must be in 1..12",
        ),
    ],
)
def test_a_head_that_cannot_be_read_says_what_is_wrong_with_it(text, problem):
    """A head without its second line is not one that is missing; a date has no month 13."""
    assert read_skill("tiny", {"SKILL.md": text}, frozenset()).frontmatter.problem == problem


def test_a_file_without_frontmatter_is_read_all_the_same():
    skill = read_skill("tiny", {"guide.md": "```python\nx = 1\n```"}, frozenset({"guide.md"}))
    assert skill.frontmatter.problem is not None
    assert len(skill.examples) == 1


def test_magics_of_a_notebook_and_prompts_of_a_shell_are_no_code():
    cell = "```python\nimport torch\n%matplotlib inline\nx = 1\n```"
    typed = "```python\n>>> x = 1\n>>> x\n1\n```"
    codes = [e.parts[0].code for e in read_page("a.md", f"{cell}\n\n{typed}\n").examples]
    assert codes == ["import torch\npass  # %matplotlib inline\nx = 1", "x = 1\nx"]
