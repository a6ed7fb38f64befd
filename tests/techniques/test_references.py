"""Each technique is written once: what a fix carries of it says nothing else."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXES = sorted((ROOT / "reference_impls").glob("*.py"))


class _Bare(ast.NodeTransformer):
    """Without annotations and docstrings."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.returns = None
        if ast.get_docstring(node):
            node.body = node.body[1:]
        return node

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_AnnAssign(self, node):
        return ast.Assign([node.target], node.value) if node.value else None


def functions(path):
    """Each top-level function of a file as the set of lines that it consists of."""
    tree = ast.parse(path.read_text())
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name: lines(f) for f in found}


def lines(function):
    bare = ast.fix_missing_locations(_Bare().visit(function))
    return {line.strip() for line in ast.unparse(bare).splitlines()[len(bare.decorator_list) + 1 :]}


TECHNIQUES = {
    name: said
    for path in (ROOT / "reference_impls/techniques").glob("*.py")
    for name, said in functions(path).items()
}


@pytest.mark.parametrize("fix", FIXES, ids=lambda p: p.stem)
def test_a_fix_carries_no_line_of_a_technique_that_the_technique_does_not_have(fix):
    """It may leave out checks and results that the loop does not use."""
    for name, said in functions(fix).items():
        if name in TECHNIQUES:
            assert said <= TECHNIQUES[name], sorted(said - TECHNIQUES[name])


def test_fixes_do_carry_techniques():
    """Otherwise the test above would compare nothing."""
    carried = {name for fix in FIXES for name in functions(fix)} & set(TECHNIQUES)
    assert {"adaptive_clip_", "centralise_", "clip_per_layer_", "log_gradients"} <= carried
