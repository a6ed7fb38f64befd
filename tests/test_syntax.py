"""The walk through a program's tree, beside the one of Python itself."""

import ast
from pathlib import Path

import pytest

from harness.syntax import blocks, children, dotted, walk

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
