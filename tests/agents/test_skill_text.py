"""A skill is read as it stands in its folder, and nothing outside of it."""

import os

import pytest

from harness.agents.skill_text import load_skill_text
from harness.domain.errors import UsageError
from tests.fakes import unreadable

HEAD = "---\nname: Clip Well\ndescription: >\n  How to\n  clip.\n---\n"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "skill-v2"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"{HEAD}# Clip once\n\nSee guide.md.\n")
    (folder / "references" / "amp.md").write_text("Unscale first.\n")
    (folder / "guide.md").write_text("Long.\n")
    (folder / "README.md").write_text("For people.\n")
    return folder


def test_name_and_description_come_from_the_frontmatter(folder):
    skill = load_skill_text(folder)

    assert (skill.name, skill.description) == ("clip-well", "How to clip.")
    assert skill.files[0].path == "SKILL.md"


def test_the_whole_text_is_the_references_and_what_the_skill_names(folder):
    assert set(load_skill_text(folder).references) == {"references/amp.md", "guide.md"}


def test_a_single_file_is_a_skill(folder):
    skill = load_skill_text(folder / "README.md")

    assert skill.main == "For people.\n"
    assert skill.name == "readme"


def test_any_change_of_any_file_changes_the_digest(folder):
    before = load_skill_text(folder).digest
    assert load_skill_text(folder).digest == before

    (folder / "README.md").write_text("For people!\n")

    assert load_skill_text(folder).digest != before


def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    (folder / "references" / "more.md").symlink_to(tmp_path / "secret.md")

    assert "references/more.md" not in load_skill_text(folder).texts


def test_what_is_no_file_is_passed_over(folder):
    """A link in a circle, a link to nothing, and a pipe, which would be waited for."""
    before = load_skill_text(folder).digest
    (folder / "circle.md").symlink_to("circle.md")
    (folder / "gone.md").symlink_to("nothing.md")
    os.mkfifo(folder / "pipe.md")

    assert load_skill_text(folder).digest == before


def test_a_part_that_cannot_be_read_is_not_left_out_in_silence(folder):
    """An agent would be asked with another skill than was named."""
    inner = unreadable.folder_in(folder)

    with pytest.raises(
        UsageError, match=f"^{inner}.*: the skill cannot be read: File name too long$"
    ):
        load_skill_text(folder)


def test_a_name_that_is_a_path_stays_a_name(folder):
    (folder / "SKILL.md").write_text("---\nname: ../../../etc\n---\n")

    assert load_skill_text(folder).name == "etc"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda folder: (folder / "SKILL.md").unlink(), r"no SKILL\.md there"),
        (lambda folder: (folder / "SKILL.md").write_bytes(b"\xff\xfe\x00"), "not text in UTF-8"),
    ],
    ids=["no SKILL.md", "binary"],
)
def test_a_folder_that_is_no_skill_gets_one_line(folder, make, sentence):
    make(folder)

    with pytest.raises(UsageError, match=sentence):
        load_skill_text(folder)
