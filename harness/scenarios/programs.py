"""The files beside ``scenario.yaml``: the message, the faulty loop and its fix."""

import traceback
import warnings
from types import TracebackType

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from harness.scenarios.problem import did_you_mean
from harness.scenarios.yaml_tree import Complaint

_NAMES = ("buggy",)
_SPOKEN = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Filter,
    nodes.Getattr, nodes.Add, nodes.Keyword, nodes.Call,
)  # fmt: skip
"""What a message may be made of: nothing that repeats or doubles."""

_FILTERS = ("indent", "trim")
_WIDEST = 100
"""Largest number in a template: ``indent(100)``."""

_MOST_LOOPS = 20
"""How often a message may insert the loop."""

_JINJA = ImmutableSandboxedEnvironment(
    autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True
)


def decode(data: bytes) -> str | Complaint:
    """UTF-8 with any line ends, or where it is not."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Complaint(line, f"byte 0x{data[error.start]:02x} is not UTF-8")
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def program_problem(text: str) -> Complaint | None:
    """Why a text is no Python program, if it is none."""
    if not text.strip():
        return Complaint(0, "the file is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a posted loop is its author's business
            compile(text, "program", "exec", dont_inherit=True)
    except SyntaxError as error:
        return Complaint(error.lineno or 0, f"this is not Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Complaint(0, f"this is not Python: {str(error) or 'it is nested too deep'}")
    return None


def uses_loop(prompt: str) -> bool | None:
    """Whether the message inserts the faulty loop; ``None`` where that cannot be read."""
    try:
        tree = _JINJA.parse(prompt)
        return None if _refused(tree) else "buggy" in find_undeclared_variables(tree)
    except (TemplateError, RecursionError):
        return None


def render(prompt: str, buggy: str) -> str | Complaint:
    """The user's message, or why the template cannot be rendered."""
    if not prompt.strip():
        return Complaint(0, "the file is empty")
    try:
        tree = _JINJA.parse(prompt)
    except TemplateSyntaxError as error:
        return Complaint(error.lineno, f"this is not a jinja2 template: {error.message}")
    except RecursionError:
        return Complaint(0, "this is no jinja2 template: it is nested too deep")
    refused = _refused(tree)
    if refused is not None:
        return refused
    unknown = find_undeclared_variables(tree).difference(_NAMES, _JINJA.globals)
    for node in tree.find_all(nodes.Name):
        if node.name in unknown:
            hint = did_you_mean(node.name, _NAMES)
            sentence = f"the template uses {node.name}, which is not given{hint}"
            return Complaint(node.lineno, sentence)
    return _fill(_JINJA.from_string(prompt), buggy)


def _refused(tree: nodes.Template) -> Complaint | None:
    """What a message has no use for, and by which it could grow without end."""
    names = 0
    for node in tree.find_all(nodes.Node):
        names += isinstance(node, nodes.Name)
        what = None
        match node:
            case nodes.Filter(name=name) if name not in _FILTERS:
                what = f"the filter {name}"
            case nodes.Const(value=int(value)) if value > _WIDEST:
                what = f"the number {str(value)[:20]}"
            case nodes.Name() if names > _MOST_LOOPS:
                what = f"a name for the {names}th time"
            case nodes.Node() if not isinstance(node, _SPOKEN):
                what = type(node).__name__.lower()
        if what is not None:
            said = f"the template uses {what}; it may insert {{{{ buggy }}}}, trimmed or indented"
            return Complaint(node.lineno, said)
    return None


def _fill(template: Template, buggy: str) -> str | Complaint:
    try:
        return template.render(buggy=buggy.rstrip("\n"))
    except Exception as error:  # noqa: BLE001 - a template may raise whatever an expression raises
        line = _template_line(error.__traceback__)
        return Complaint(line, f"the template fails: {type(error).__name__}: {error}")


def _template_line(trace: TracebackType | None) -> int:
    """Where rendering failed: jinja2 rewrites its frames to name the template's lines."""
    lines = [f.lineno for f in traceback.extract_tb(trace) if f.filename == "<template>"]
    return (lines[-1] or 0) if lines else 0
