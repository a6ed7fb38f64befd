"""Sessions of Claude Code, and what `claude -p` prints."""

import json

from harness.transcripts import files_after
from tests.transcripts.material import (
    ANSWER,
    FIXED,
    MATERIAL,
    PROMPT,
    calls_of,
    fixture,
    only,
    results_of,
    said,
)


def _line(uuid, parent, role, content, **more):
    message = {"role": role, "content": content}
    ids = {"uuid": uuid, "parentUuid": parent, "sessionId": "s"}
    return json.dumps({**ids, "type": role, "message": message, **more}) + "\n"


def test_the_prompt_is_what_the_person_typed():
    """Not the reminder, the command, the skill's text or the summary of a compaction."""
    transcript = only(fixture("claude-code.jsonl"))

    assert said(transcript, "user") == [PROMPT, "And the log file?"]
    assert said(transcript, "system")[0].startswith("This session is being continued")


def test_lines_of_one_message_are_one_message():
    """Four lines carry one id; its tokens count once, a subagent's count too."""
    transcript = only(fixture("claude-code.jsonl"))

    assert transcript.messages[1].text == "I read both files."
    assert [c.name for c in transcript.messages[1].calls] == ["Read", "Read"]
    assert transcript.usage is not None
    assert transcript.usage.output == 30 + 100 + 6 * 10


def test_subagents_and_abandoned_branches_are_not_the_conversation():
    """The leaf and those before it are."""
    transcript = only(fixture("claude-code.jsonl"))

    assert "subagent" not in transcript.answer
    assert "abandoned" not in transcript.answer
    assert transcript.answer.endswith(ANSWER)


def test_results_of_parallel_calls_are_found_beside_the_chain():
    """The first of two results is nobody's parent, and still answers its call."""
    calls = calls_of(only(fixture("claude-code.jsonl")))

    assert calls[:2] == [("Read", "ok"), ("Read", "error")]


def test_files_are_rebuilt_from_what_succeeded():
    """Edit and MultiEdit on a file that was read, a heredoc; the denied Write did nothing."""
    files = files_after(only(fixture("claude-code.jsonl")))

    expected = FIXED.replace("model(batch)", "net(batch)").replace("batch", "b")
    assert [(f.path, f.content) for f in files] == [
        ("/repo/train.py", expected),
        ("/repo/run.sh", "python train.py $1\n"),
    ]


def test_a_last_line_that_is_cut_off_is_noted():
    """A killed run ends like that."""
    assert only(fixture("claude-code.jsonl")).notes == ("The last line is cut off.",)


def test_a_parent_that_is_missing_is_the_line_before():
    """The chain goes on past a line that could not be read."""
    lines = _line("a", None, "user", "q") + "{broken}\n" + _line("c", "b", "assistant", "A")
    transcript = only(results_of(lines))

    assert (transcript.prompt, transcript.answer) == ("q", "A")


def test_parents_in_a_circle_end():
    """A tree that is none is read and never hangs."""
    lines = _line("a", None, "user", "q") + _line("b", "b", "assistant", "A")

    assert only(results_of(lines)).answer == "A"


def test_a_subagents_own_file_is_read_as_its_conversation():
    """There every line is a side line."""
    lines = _line("a", None, "user", "q", isSidechain=True)
    lines += _line("b", "a", "assistant", "A", isSidechain=True)

    assert only(results_of(lines)).answer == "A"


def test_a_printed_stream_is_read_without_subagents_and_denied_calls():
    """A denial does not set is_error: the last line lists it."""
    transcript = only(fixture("claude-stream.jsonl"))

    assert calls_of(transcript) == [("Write", "ok"), ("Write", "denied")]
    assert "subagent" not in transcript.answer
    assert [(f.path, f.content) for f in files_after(transcript)] == [("/repo/train.py", FIXED)]
    assert transcript.usage is not None
    assert transcript.usage.output == 99


def test_json_output_is_the_same_conversation_or_its_end():
    """With --verbose everything, else the last message."""
    verbose, last = (only(fixture(f"claude-json{n}.json")) for n in ("-verbose", ""))

    assert verbose.messages == only(fixture("claude-stream.jsonl")).messages
    assert last.answer == ANSWER


def test_two_sessions_in_one_stream_are_two_transcripts():
    """Output of several runs appended to one file."""
    text = (MATERIAL / "claude-stream.jsonl").read_text()
    results = results_of(text + text.replace("5e1d-2", "other"))

    assert [r.origin.position for r in results] == ["session 1", "session 2"]


def test_noise_between_the_lines_is_left_out():
    """A warning on the same terminal."""
    text = "(node:1) Warning\n" + (MATERIAL / "claude-stream.jsonl").read_text()
    transcript = only(results_of(text))

    assert "1 lines hold no JSON object" in transcript.notes[0]


def test_lines_that_are_too_long_are_left_out():
    """Most of this session is screenshots of another kind than base64."""
    long = _line("b", "a", "user", "x y " * 1_200_000)
    lines = _line("a", None, "user", "q") + 3 * long + _line("c", "b", "assistant", "A")
    transcript = only(results_of(lines))

    assert (transcript.prompt, transcript.answer) == ("q", "A")
    assert transcript.notes == ("3 lines were too long to read.",)


def test_what_subagents_do_to_files_counts_and_what_they_say_does_not():
    """They work on the same files; a file that only they changed is told apart."""
    write = [
        {"type": "text", "text": "I am the subagent."},
        {
            "type": "tool_use",
            "id": "t1",
            "name": "Write",
            "input": {"file_path": "/r/a.py", "content": "x = 1\n"},
        },
    ]
    done = [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]
    lines = _line("a", None, "user", "q") + _line("b", "a", "assistant", "A")
    lines += _line("s1", None, "assistant", write, isSidechain=True)
    lines += _line("s2", "s1", "user", done, isSidechain=True)
    lines += _line("c", "b", "user", "thanks")

    transcript = only(results_of(lines))

    assert transcript.answer == "A"
    assert [(f.content, f.by_subagent) for f in files_after(transcript)] == [("x = 1\n", True)]
