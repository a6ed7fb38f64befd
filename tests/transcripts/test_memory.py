"""A log of 200 MB is read in less than 300 MB of memory, whatever its lines look like."""

import json
import subprocess
import sys

import pytest

SIZE = 200 << 20
READ = """
import sys
from harness.transcripts import read, files_after
(transcript,) = read(sys.argv[1])
files = files_after(transcript)
print(transcript.messages[0].text[:6], transcript.messages[-1].text[:6], len(files))
# not getrusage: its peak survives exec and would be that of the test process
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def _claude_code(text):
    last = None
    for i in range(10**9):
        role = "assistant" if i % 2 else "user"
        message = {"role": role, "id": f"msg_{i}", "content": [{"type": "text", "text": text}]}
        yield {
            "type": role,
            "uuid": f"{i:036d}",
            "parentUuid": last,
            "sessionId": "s",
            "message": message,
        }
        last = f"{i:036d}"


def _claude_stream(text):
    for i in range(10**9):
        write = {"type": "tool_use", "id": f"t{i}", "name": "Write"}
        write["input"] = {"file_path": f"/r/{i % 7}.py", "content": text}
        message = {"role": "assistant", "id": f"m{i}", "content": [write]}
        yield {"type": "assistant", "session_id": "s", "message": message}
        done = {"type": "tool_result", "tool_use_id": f"t{i}", "content": text}
        yield {"type": "user", "session_id": "s", "message": {"role": "user", "content": [done]}}


def _codex(text):
    for _ in range(10**9):
        payload = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }
        yield {"timestamp": "t", "type": "response_item", "payload": payload}


def _exec(text):
    for i in range(10**9):
        item = {"id": f"i{i}", "type": "command_execution", "command": "ls", "exit_code": 0}
        yield {"type": "item.completed", "item": {**item, "aggregated_output": text}}


@pytest.mark.full
@pytest.mark.parametrize("length", [pytest.param(50, marks=pytest.mark.every), 5_000, 3_000_000])
@pytest.mark.parametrize("records", [_claude_code, _claude_stream, _codex, _exec])
def test_a_line_format_of_200_mb_stays_under_300_mb(records, length, tmp_path):
    """The beginning and the end are there, and the files."""
    path = tmp_path / "log.jsonl"
    first = {
        "type": "user",
        "uuid": "0",
        "session_id": "s",
        "message": {"role": "user", "content": "first"},
    }
    with path.open("w") as file:
        if records is _claude_stream:
            file.write(json.dumps(first) + "\n")
        size = 0
        for record in records("é" + "x" * length):
            size += file.write(json.dumps(record, ensure_ascii=False) + "\n")
            if size > SIZE:
                break
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        check=True,
        capture_output=True,
        text=True,
        timeout=900,
    )
    said, peak = done.stdout.splitlines()

    assert said
    assert int(peak) < 300
