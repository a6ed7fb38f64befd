"""The fixtures, and what every reader is asked."""

from io import BytesIO
from pathlib import Path

from harness.domain.transcript import Message, Transcript, Unreadable
from harness.transcripts import read

MATERIAL = Path(__file__).parent.parent / "material" / "transcripts"

FORMAT_OF = {
    "markdown.md": "markdown",
    "markdown-front-matter.md": "markdown",
    "python.py": "python",
    "python-broken.py": "python",
    "notebook.ipynb": "notebook",
    "anthropic-response.json": "anthropic",
    "anthropic-request.json": "anthropic",
    "anthropic-both.json": "anthropic",
    "anthropic-merged.json": "anthropic",
    "anthropic-tools.json": "anthropic",
    "openai-response.json": "openai",
    "openai-messages.json": "openai",
    "openai-messages.jsonl": "openai",
    "openai-tools.json": "openai",
    "claude-code.jsonl": "claude-code",
    "claude-stream.jsonl": "claude-stream",
    "claude-json.json": "claude-json",
    "claude-json-verbose.json": "claude-json",
    "inspect.json": "inspect-json",
    "inspect-deflated.eval": "inspect-eval",
    "inspect-zstandard.eval": "inspect-eval",
    "codex-rollout.jsonl": "codex-rollout",
    "codex-rollout-2025-06.jsonl": "codex-rollout",
    "codex-exec.jsonl": "codex-exec",
    "json-lines.jsonl": "json-lines",
    "answers.tar.gz": "tar",
}

PROMPT = (
    "My loss becomes NaN after a few hundred steps although I clip. What is wrong with train.py?"
)
FIXED = (
    "for batch in train_loader:\n    optimizer.zero_grad()\n    loss = model(batch)\n"
    "    loss.backward()\n    optimizer.step()\n"
)
ANSWER = f"The step comes before the backward.\n\n```python\n{FIXED}```\n"


def results_of(content: str | bytes, form: str | None = None) -> list[Transcript | Unreadable]:
    raw = content.encode() if isinstance(content, str) else content
    return list(read(BytesIO(raw), form))


def only(results: list[Transcript | Unreadable]) -> Transcript:
    (result,) = results
    assert isinstance(result, Transcript), result
    return result


def fixture(name: str) -> list[Transcript | Unreadable]:
    return list(read(MATERIAL / name))


def calls_of(transcript: Transcript) -> list[tuple[str, str]]:
    return [(call.name, call.status) for m in transcript.messages for call in m.calls]


def said(transcript: Transcript, role: str) -> list[str]:
    return [m.text for m in transcript.messages if isinstance(m, Message) and m.role == role]


TEXT = """import torch

steps = 4
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y) / steps
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)

    if (i + 1) % steps == 0:
        optimizer.step()
"""
"""A file that commands change."""
