"""What an answer imports from modules of its reader's project: free names, which mean what they say.

Nobody but the reader has these files. ``from models import build_model`` leaves a name that the table
knows, as in a function that is pasted alone.
"""

import ast
import re

from harness.extraction.parsing import comment_out, parsed

LOCAL = re.compile(
    r"(?:my|our)_?\w*|(?:\w+_)?(?:models?|nets?|networks?|modules?|layers?|data|datasets?_?utils|dataset|"
    r"data_?loaders?|loaders?|configs?|cfg|settings|options|hparams|params|utils?|helpers?|losses|loss|"
    r"metrics|train|trainers?|training|engine|project|arch|architectures?|backbones?|solver|"
    r"preprocessing|evaluation|evaluate|checkpoints?|sampling|samplers?|schedules?)"
    r"|common|lib|libs|src|core|tools|app",
)
"""Names of modules in projects; a package of the index that is called so is not for training."""


def without_local_imports(program: str) -> str:
    """The program with such imports as comments, so that every other line keeps its number."""
    try:
        tree = parsed(program)
    except SyntaxError:
        return program
    lines = program.split("\n")
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and _is_local(node) and node.names[0].name != "*":
            comment_out(lines, node)
    return "\n".join(lines)


def _is_local(node: ast.ImportFrom) -> bool:
    top = (node.module or "").partition(".")[0]
    return node.level > 0 or LOCAL.fullmatch(top) is not None
