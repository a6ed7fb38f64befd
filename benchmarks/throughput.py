"""How many answers a second a batch is graded at, and whether memory stays flat."""

import os
import tempfile
import time
from pathlib import Path

from harness.agents.given import given_answers
from harness.domain.stored import GradedAnswer
from harness.extraction.assignment import Choice
from harness.runner import Settings, grade_answers
from harness.scenarios import default_bank, load_bank

SCENARIO = "padding-and-accumulation"
ANSWERS = int(os.environ.get("ANSWERS", "300"))

ANSWER = """I would write it like this (answer {number}):

```python
answer = {number}
{program}
```
"""


def main() -> None:
    """One scenario, one process an answer, every answer another program in another file."""
    bank = load_bank(default_bank())
    scenario = next(s for s in bank.scenarios if s.id == SCENARIO)
    told: list[float] = []
    sizes: list[int] = []

    def keep(_: GradedAnswer) -> None:
        told.append(time.perf_counter())
        if len(told) in (ANSWERS // 10 + 1, ANSWERS):
            sizes.append(memory())

    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number in range(ANSWERS):
            file = Path(folder) / f"{number}.md"
            file.write_text(ANSWER.format(number=number, program=scenario.reference))
            files.append(str(file))
        answers = given_answers(files, None, bank, Choice(scenario=SCENARIO))
        grade_answers(bank, answers, len(files), Settings(keep=keep))
    first, last = told[len(told) // 10], told[-1]
    rate = (len(told) * 9 // 10) / (last - first)
    probes = len(scenario.probes)
    print(f"{len(told)} answers, {probes} executions each: {rate:.1f} answers a second")
    print(f"the same in executions: {rate * probes:.1f} a second on {os.cpu_count()} cores")
    print(f"memory: {sizes[0]} MiB after a tenth, {sizes[-1]} MiB at the end")


def memory() -> int:
    """Resident memory of this process, MiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


if __name__ == "__main__":
    main()
