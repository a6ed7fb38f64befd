"""The walk through a program's tree, beside the one of Python itself."""

import ast
import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.syntax import LONGEST, blocks, children, dotted, source_of, tree_of, walk

ROOT = Path(__file__).parents[1]
RARE = """
async def f[T](a: int, /, *b, c=1, **d) -> None:
    async for i in g(): yield
    async with h() as (j, k): pass
    global m
    try: ...
    except* (OSError, ValueError) as error: raise error from None
    match x:
        case {"a": [1, *rest], **others} | Point(x=0) as point if point: ...
        case -1 | None | _: ...
    del a[1:2, ...]
    return (y := lambda z: f"{z!r:>{width}}", not a < b <= c, [*d], {**e})
type Alias[U] = list[U]
"""


@pytest.mark.parametrize(
    "path", [*ROOT.glob("harness/**/*.py")][::6], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_walk_visits_what_ast_walk_visits_but_for_contexts(path):
    assert_same(path.read_text(encoding="utf-8"))


def test_the_walk_visits_rare_syntax_as_ast_walk_does():
    """What this Python does not know yet is written as it was before."""
    try:
        ast.parse(RARE)
        assert_same(RARE)
    except SyntaxError:
        assert_same(RARE.replace("f[T]", "f").replace("type Alias[U] = list[U]", ""))


def assert_same(program: str) -> None:
    tree = ast.parse(program)
    assert walk(tree) == without_contexts(ast.walk(tree))
    assert children(tree) == without_contexts(ast.iter_child_nodes(tree))


def without_contexts(nodes) -> list[ast.AST]:
    return [node for node in nodes if not isinstance(node, ast.expr_context)]


def test_a_dotted_path_is_that_of_a_name_or_of_what_is_called():
    trees = [ast.parse(text, mode="eval").body for text in ("a", "a.b.c", "a.b(1).c()", "1 + 2")]

    assert [dotted(tree) for tree in trees] == ["a", "a.b.c", "a.b.c", ""]


def test_blocks_are_the_statements_own_lists():
    (tried,) = ast.parse("try:\n    a\nexcept E:\n    b\nelse:\n    c\nfinally:\n    d").body
    for block in blocks(tried):
        block[:] = [ast.Pass()]

    assert ast.unparse(ast.fix_missing_locations(tried)).count("pass") == len("abcd")
    assert blocks(ast.parse("x = 1").body[0]) == []


class Cycle:
    """Garbage whose end takes a while, so that another thread goes on in the midst of a tree."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(300):
            pass


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads that change often, and garbage that is collected often."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50, 2, 2)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


@pytest.mark.full
@pytest.mark.usefixtures("hurried")
def test_a_tree_may_be_made_in_any_thread():
    """``ast.parse`` raised ``SystemError`` in one of twenty."""
    code = "\n".join(
        f"def f{n}(a): return [(x + {n}) * (x - 2) for x in a if x]" for n in range(60)
    )

    def make(_: int) -> ast.Module:
        [Cycle() for _ in range(30)]
        return tree_of(code)

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(make, range(200)))) == 200


UNREADABLE = {
    "nested for the parser": "x = " + "-" * 30_000 + "1",
    "nested for the tree": "x = 1" + " + 1" * 20_000,
    "nested for what is done with a tree": "x = 1" + " + 1" * 700,
    "a byte that is no text": "x = 1\0",
    "of very many parts": "x = " + 'f"{a!r:{b}}" ' * 40_000,
    "very long": "x = 1\n" * (LONGEST // 6 + 1),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_the_parser_cannot_take_is_no_python(case):
    """The parser's own ``MemoryError`` was taken for a machine without memory, and ended the batch."""
    with pytest.raises(SyntaxError):
        tree_of(UNREADABLE[case])


def test_a_sum_of_a_hundred_terms_is_read():
    assert tree_of("x = 1" + " + 1" * 100)


def test_an_emoji_with_a_joiner_inside_an_f_string_can_be_written_down():
    tree = tree_of("print(f\"{'\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}'} {step}\")")

    assert "{step}" in source_of(tree)
