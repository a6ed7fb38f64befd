"""The same loop in other forms, with other names, with batches of other shapes."""

import ast
import builtins
import textwrap

from harness.sandbox.binding.flow import library

FORMS = ("module", "function", "class", "dataclass", "main")
NAMES = ("posted", "synonyms", "opaque")
SHAPES = ("tuple", "dict", "attribute", "index", "free-target")

SYNONYMS = {
    "model": "net", "train_loader": "dataloader", "val_loader": "valid_dl", "optimizer": "opt",
    "criterion": "loss_fn", "accumulation_steps": "grad_accum", "max_norm": "clip_threshold",
    "num_epochs": "n_epochs", "scaler": "grad_scaler", "scheduler": "sched", "device": "dev",
    "x": "inputs", "y": "labels", "loss": "objective", "output": "preds",
}  # fmt: skip

ROLES = (
    "model", "train_loader", "val_loader", "optimizer", "criterion", "scaler", "scheduler", "device",
    "accumulation_steps", "max_norm", "num_epochs",
)  # fmt: skip


def shaped(source: str, shape: str) -> str:
    """Batches arrive as something else than a tuple that the loop header unpacks."""
    tree = ast.parse(source)
    tree = ast.fix_missing_locations(_Shape(shape).visit(tree))
    return ast.unparse(tree)


class _Shape(ast.NodeTransformer):
    def __init__(self, shape: str) -> None:
        self.shape = shape

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Tuple) and isinstance(target.elts[-1], ast.Tuple):
            target.elts[-1] = self._single(node, target.elts[-1])
        elif isinstance(target, ast.Tuple) and [getattr(e, "id", "") for e in target.elts] == [
            "x",
            "y",
        ]:
            node.target = self._single(node, target)
        return node

    def _single(self, node: ast.For, target: ast.expr) -> ast.expr:
        unpacking = {
            "dict": 'x, y = batch["input"], batch["label"]',
            "attribute": "x, y = batch.x, batch.y",
            "index": "x = batch[0]; y = batch[1]",
            "free-target": "x = batch; y = target",
        }.get(self.shape)
        if unpacking is None:
            return target
        node.body[:0] = ast.parse(unpacking).body
        return ast.Name("batch", ast.Store())


def formed(source: str, form: str) -> str:
    """The loop inside something that may be defined and never called."""
    free = [n for n in ROLES if n in _reads(source) and (n == "model" or n not in _writes(source))]
    lines = source.splitlines()
    imports = "\n".join(line for line in lines if line.startswith(("import ", "from ")))
    body = "\n".join(line for line in lines if not line.startswith(("import ", "from ")))
    if form == "function":
        return f"import torch\n{imports}\ndef train({', '.join(free)}):\n{textwrap.indent(body, '    ')}"
    if form == "class":
        fields = "\n".join(f"        self.{n}_ = {n}" for n in free)
        local = "\n".join(f"        {n} = self.{n}_" for n in free)
        return (
            f"import torch\n{imports}\nclass Loop:\n    def __init__(self, {', '.join(free)}):\n{fields}\n"
            f"    def fit_all(self):\n{local}\n{textwrap.indent(body, '        ')}"
        )
    if form == "dataclass":
        numbers = [n for n in ("accumulation_steps", "max_norm") if n in free]
        values = {"accumulation_steps": "4", "max_norm": "1.0"}
        fields = (
            "\n".join(f"    {n}_: float = {values[n]}" for n in numbers) or "    seed_: int = 0"
        )
        fields = fields.replace("accumulation_steps_: float", "accumulation_steps_: int")
        others = [n for n in free if n not in numbers]
        local = "\n".join(f"    {n} = cfg.{n}_" for n in numbers) or "    pass"
        return (
            "from __future__ import annotations\nimport torch\nfrom dataclasses import dataclass\n"
            f"{imports}\n@dataclass\nclass Config:\n{fields}\n\n"
            f"def train({', '.join([*others, 'cfg'])}):\n{local}\n{textwrap.indent(body, '    ')}\n"
            f"train({', '.join([*others, 'Config()'])})\n"
        )
    if form == "main":
        local = "    global model\n" if "model" in _writes(source) else ""
        return (
            f"import torch\n{imports}\ndef main():\n{local}{textwrap.indent(body, '    ')}\n"
            'if __name__ == "__main__":\n    main()\n'
        )
    return source


def _reads(source: str) -> set[str]:
    return {
        n.id
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


def _writes(source: str) -> set[str]:
    return {
        n.id
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def named(source: str, names: str) -> str:
    """Other identifiers: synonyms, or nothing that means anything."""
    if names == "posted":
        return source
    tree = ast.parse(source)
    own = sorted(_own(tree))
    mapping = SYNONYMS if names == "synonyms" else {name: f"v{i}" for i, name in enumerate(own)}
    return ast.unparse(_Rename({k: v for k, v in mapping.items() if k in own}).visit(tree))


def _own(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("__"):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("self", "cfg"):
            found |= {node.attr} if node.attr.endswith("_") else set()
    imported = {
        (a.asname or a.name).partition(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, ast.Import | ast.ImportFrom)
        for a in n.names
    }
    known = imported | set(library.NAMES) | set(dir(builtins)) | {"self", "__name__"}
    return {name for name in found if name not in known}


class _Rename(ast.NodeTransformer):
    def __init__(self, mapping: dict[str, str]) -> None:
        self.mapping = mapping

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.mapping.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.mapping.get(node.arg, node.arg)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self.mapping.get(n, n) for n in node.names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = self.mapping.get(node.name, node.name)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.name = self.mapping.get(node.name, node.name)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        node.attr = self.mapping.get(node.attr, node.attr) if node.attr.endswith("_") else node.attr
        return node
