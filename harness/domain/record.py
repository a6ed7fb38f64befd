"""The base of everything that crosses a stage: frozen, closed, documented field by field."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Said = Annotated[str, StringConstraints(max_length=4_000)]
"""A text that may be told: the recorder cuts what a program says long before."""

Counted = Annotated[int, Field(ge=0, lt=1 << 53)]
"""How often, or which: whatever is computed from it still has digits that can be written."""

Whole = Annotated[int, Field(gt=-(1 << 53), lt=1 << 53)]
"""A number that the program chose."""


class Record(BaseModel):
    """A frozen value. Unknown keys are refused; NaN and infinities travel as strings.

    JSON has no NaN and pydantic would write ``null`` for it, which would turn "the loss was NaN"
    into "the loss was not measured". ``"NaN"``, ``"Infinity"`` and ``"-Infinity"`` keep the two
    apart.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


# Not pydantic's `use_attribute_docstrings`: it reads the source of every class in every process,
# which took 40 % of the time that a command needs to start.
def meaning_of(record: type[BaseModel], field: str) -> str | None:
    """The docstring under a field; ``None`` where the class has no such field or docstring."""
    found = (_docstrings(base).get(field) for base in record.__mro__ if base is not object)
    return next((said for said in found if said is not None), None)


@cache
def _docstrings(record: type) -> dict[str, str]:
    if not issubclass(record, Record):
        return {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        named.target.id: inspect.cleandoc(said.value.value)
        for named, said in pairwise(definition.body)
        if isinstance(named, ast.AnnAssign) and isinstance(named.target, ast.Name)
        if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant)
        if isinstance(said.value.value, str)
    }
