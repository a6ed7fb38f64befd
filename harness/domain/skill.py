"""A skill as written: frontmatter, sections, and examples with what each of them claims."""

from typing import Literal

from pydantic import Field

from harness.domain.record import Record

Polarity = Literal["right", "better", "suboptimal", "wrong"]
"""What a mark says about the code that it stands at."""

ExampleKind = Literal[
    "training-loop",
    "gradient-function",
    "update-function",
    "inspection",
    "initialisation",
    "loss",
    "module",
    "measurement",
    "scheduler",
    "configuration",
    "helper",
    "fragment",
    "pseudo-code",
]
"""What a piece of code is, by its structure.

``training-loop``: backward at module level, or a hook of a trainer. ``gradient-function``: changes
gradients of a model that has some. ``update-function``: a function that runs backward.
``inspection``: looks at gradients or parameters. ``fragment``: statements that need surroundings
which nobody can guess. ``pseudo-code``: nothing but comments.
"""


class Mark(Record):
    """One word or sign by which the author judges the code."""

    polarity: Polarity
    """What it says."""
    word: str
    """The word or sign as it stands there: ``WRONG``, ``✅``."""
    place: Literal["comment", "sentence", "heading"]
    """Where: a comment in the block, the sentence before it, a heading above it."""
    text: str
    """The whole comment, sentence or heading."""
    line: int
    """1-based line in the file."""


class Part(Record):
    """A stretch of a block that is judged by itself: the whole block, or one of its alternatives."""

    code: str
    """Its code."""
    shared: str = ""
    """What stands before the first alternative of its block: imports, constants, definitions."""
    line: int
    """1-based line in the file on which it begins."""
    mark: Mark | None
    """What the author says about it; ``None`` when nothing is said."""
    comments: tuple[str, ...] = ()
    """Its comments, without the sign, in order."""
    kind: ExampleKind = "fragment"
    """What it is, by its structure."""
    flaw: str | None = None
    """Why it cannot be read as Python."""


class Example(Record):
    """One fenced Python block."""

    file: str
    """Path within the skill's folder, with forward slashes."""
    position: int
    """1-based position among the Python blocks of its file."""
    line: int
    """1-based line of the opening fence."""
    end: int
    """1-based line of the closing fence."""
    digest: str
    """First twelve hex digits of the SHA-256 of the code."""
    code: str
    """What is inside."""
    headings: tuple[str, ...]
    """Headings above it, outermost first."""
    before: str
    """The sentence before it; empty when a heading or another block stands there."""
    parts: tuple[Part, ...]
    """Its alternatives, or itself alone."""
    warned: bool = False
    """Whether the words above it may mean that it shows something that goes wrong."""


class Section(Record):
    """The text between one heading and the next."""

    file: str
    """Path within the skill's folder."""
    headings: tuple[str, ...]
    """Its heading and those above it, outermost first; empty for what comes before the first."""
    line: int
    """1-based line of its heading."""
    text: str
    """Its text, without the heading and without what lies under a further heading."""

    @property
    def name(self) -> str:
        """``Clipping > Threshold``."""
        return " > ".join(self.headings) or "(top)"


class Reference(Record):
    """A link to another file of the skill."""

    file: str
    """File in which it stands."""
    line: int
    """1-based line."""
    target: str
    """What it points to, as written."""


class Page(Record):
    """One Markdown file of a skill."""

    file: str
    """Path within the skill's folder."""
    text: str
    """Its text."""
    sections: tuple[Section, ...]
    """Its sections in order."""
    examples: tuple[Example, ...]
    """Its Python blocks in order."""
    references: tuple[Reference, ...]
    """Its links to files, in order; addresses on the web are left out."""
    anchors: frozenset[str]
    """Names of its headings, as GitHub makes them for links."""


class Repeated(Record):
    """A key that was given before in the same map."""

    key: str
    """The key."""
    line: int
    """1-based line of the second time."""
    first: int
    """1-based line of the first time."""


class Frontmatter(Record):
    """What stands between the ``---`` lines at the top of ``SKILL.md``, as far as it can be read."""

    keys: tuple[str, ...] = ()
    """Keys in order."""
    texts: dict[str, str] = Field(default_factory=dict)
    """Values that are text, by key."""
    shapes: dict[str, str] = Field(default_factory=dict)
    """What each value is: ``text``, ``number``, ``list``, ``map``, ``nothing``, ``truth``."""
    lines: dict[str, int] = Field(default_factory=dict)
    """1-based line of each key."""
    map_of_texts: dict[str, bool] = Field(default_factory=dict)
    """For values that are maps: whether all keys and values are text."""
    repeated: tuple[Repeated, ...] = ()
    """Keys that are given again, in order."""
    raw: str = ""
    """The lines themselves."""
    problem: str | None = None
    """Why it cannot be read; ``None`` when it can."""


class Skill(Record):
    """A skill, read."""

    folder: str
    """Name of its folder."""
    main: str
    """Name of its main file: ``SKILL.md``, or another where the folder holds no such file."""
    frontmatter: Frontmatter
    """The head of the main file."""
    pages: tuple[Page, ...]
    """The main file and every Markdown file beside and below it."""
    files: frozenset[str] = frozenset()
    """Every file of the folder, as paths within it; of one page, itself and what it links to."""
    is_page: bool = False
    """Whether it is one page that is no SKILL.md, of which nobody asks a skill's format."""

    @property
    def examples(self) -> tuple[Example, ...]:
        """Every Python block, page by page."""
        return tuple(example for page in self.pages for example in page.examples)

    @property
    def sections(self) -> tuple[Section, ...]:
        """Every section, page by page."""
        return tuple(section for page in self.pages for section in page.sections)
