"""``docs/schema/``, generated: JSON schemas of everything that is written for programs."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import FloatSchema, ModelSchema

from harness.domain.calibration import Calibration
from harness.domain.check import CheckReport
from harness.domain.comparison import Ablation, Comparison
from harness.domain.machine import Machine
from harness.domain.plan import Plan, RoundsPlan
from harness.domain.quality import QualityReport
from harness.domain.record import Record, meaning_of
from harness.domain.reported import AnswerLine, RunReport
from harness.domain.run import Run
from harness.domain.stored import RunHead, StoredAnswer
from harness.domain.triggers import TriggerReport

SCHEMAS: Mapping[str, type[Record]] = MappingProxyType(
    {
        "run": Run,
        "grade-line": AnswerLine,
        "comparison": Comparison,
        "comparison-plan": Plan,
        "rounds-plan": RoundsPlan,
        "ablation": Ablation,
        "triggers": TriggerReport,
        "calibration": Calibration,
        "check": CheckReport,
        "quality": QualityReport,
        "doctor": Machine,
        "report": RunReport,
        "stored-run": RunHead,
        "stored-answer": StoredAnswer,
    }
)
"""By the name of the file."""


class _AsWritten(GenerateJsonSchema):
    """Numbers that JSON does not have are written as strings; a field has its docstring."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        written = super().model_schema(schema)
        for name, field in written.get("properties", {}).items():
            meaning = meaning_of(schema["cls"], name)
            if meaning is not None:
                field["description"] = meaning
        return written

    def float_schema(self, schema: FloatSchema) -> JsonSchemaValue:
        return {"anyOf": [super().float_schema(schema), {"enum": ["NaN", "Infinity", "-Infinity"]}]}


def render_schema(record: type[Record]) -> str:
    """One file. It says what is written; NaN and infinities are strings."""
    schema = record.model_json_schema(mode="serialization", schema_generator=_AsWritten)
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **schema}, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all of them to the folder that the command line names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, record in SCHEMAS.items():
        (folder / f"{name}.json").write_text(render_schema(record), encoding="utf-8")


if __name__ == "__main__":
    main()
