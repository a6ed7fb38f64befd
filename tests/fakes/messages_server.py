"""A server on loopback that speaks the Messages API and its batches, for the real SDK to talk to."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sends for one request."""

    status: int = 200
    body: Body = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    """Send nothing until the server is closed."""
    garbled: bool = False
    """Hang up in the middle of the head."""
    raw: bytes = b""
    """Sent in place of the body: lines of JSON."""
    batched: str = ""
    """In a batch: ``expired`` or ``canceled`` in place of what became of it."""


def says(
    text: str, *, read: int = 100, wrote: int = 20, cached: int = 0, written: int = 0
) -> Reply:
    """A finished answer."""
    return _message([{"type": "text", "text": text}], "end_turn", read, wrote, cached, written)


def thinks(thought: str, text: str) -> Reply:
    """A finished answer with a thinking block before it."""
    thinking = {"type": "thinking", "thinking": thought, "signature": "c2ln"}
    return _message([thinking, {"type": "text", "text": text}], "end_turn")


def calls(name: str, given: Body, *, id: str = "toolu_1") -> Reply:  # noqa: A002 - as in a message
    """An answer that wants to use a tool first."""
    use = {"type": "tool_use", "id": id, "name": name, "input": given}
    return _message([{"type": "text", "text": "Let me look."}, use], "tool_use")


def cut_off(text: str = "Clipping has to") -> Reply:
    """An answer that reached ``max_tokens``."""
    return _message([{"type": "text", "text": text}], "max_tokens")


def refuses() -> Reply:
    """A refusal."""
    reply = _message([], "refusal")
    reply.body["stop_details"] = {
        "type": "refusal",
        "category": "frontier_llm",
        "explanation": "not this one",
    }
    return reply


def fails(status: int, kind: str, *, retry_after: str | None = None, said: str = "no") -> Reply:
    """An error in the API's form."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Reply(status, {"type": "error", "error": {"type": kind, "message": said}}, headers)


def hangs() -> Reply:
    """Nothing, for as long as the client waits."""
    return Reply(hangs=True)


def hangs_up() -> Reply:
    """A connection that is closed without an answer."""
    return Reply(garbled=True)


def expires() -> Reply:
    """In a batch: it was not answered within a day."""
    return Reply(batched="expired")


def is_canceled() -> Reply:
    """In a batch: somebody canceled it."""
    return Reply(batched="canceled")


@dataclass
class FakeBatch:
    """A batch that was handed in."""

    id: str
    requests: list[Body]
    polls: int
    """How often it is still in progress when it is asked for."""
    results: list[Body] | None = None

    def as_body(self, url: str) -> Body:
        """As the API describes it; what became of its requests is counted once it has ended."""
        ended = self.polls <= 0
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts["processing"] = 0 if ended else len(self.requests)
        for result in (self.results or []) if ended else []:
            counts[result["result"]["type"]] += 1
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            "ended_at": "2026-01-01T00:10:00Z" if ended else None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": f"{url}/v1/messages/batches/{self.id}/results" if ended else None,
        }


class MessagesServer:
    """Answers requests in order from ``replies``, or by ``answer`` when that is given."""

    def __init__(self, answer: Callable[[Body], Reply] | None = None) -> None:
        self.replies: deque[Reply] = deque()
        self.requests: list[Body] = []
        self.heads: list[dict[str, str]] = []
        self.most_at_once = 0
        self.batches: dict[str, FakeBatch] = {}
        self.polls = 0
        """How often a batch is in progress before it has ended."""
        self.batches_answer: Reply | None = None
        """Sent for whatever is asked about batches."""
        self.polled = threading.Event()
        """Set when a batch was first asked for."""
        self.answer = answer
        self._now = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.arrived = threading.Event()
        """Set when the first request is there."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def pose_as_api(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the SDK find this server, and nothing else, without a proxy between."""
        monkeypatch.setenv("ANTHROPIC_BASE_URL", self.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    @contextmanager
    def running(self) -> Iterator["MessagesServer"]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._released.set()
            self._http.shutdown()
            thread.join()
            self._http.server_close()

    def _reply_to(self, body: Body, head: dict[str, str]) -> Reply:
        with self._lock:
            self.requests.append(body)
            self.heads.append(head)
            self.arrived.set()
            if self.answer is None:
                if not self.replies:
                    return fails(400, "invalid_request_error", said="the test expected no request")
                return self.replies.popleft()
        return self.answer(body)

    def _batch(self, path: str, body: Body | None) -> Reply:
        """``POST`` creates one; ``GET`` says how it goes."""
        if self.batches_answer is not None:
            return self.batches_answer
        if path.endswith("/results"):
            return Reply(raw=self._lines(path))
        if body is not None:
            ids = [request["custom_id"] for request in body["requests"]]
            if len(set(ids)) < len(ids) or not all(0 < len(one) <= 64 for one in ids):
                return fails(400, "invalid_request_error", said="custom_id")
            batch = FakeBatch(f"msgbatch_{len(self.batches) + 1}", body["requests"], self.polls)
            self.batches[batch.id] = batch
            return Reply(body=batch.as_body(self.url))
        self.polled.set()
        found = self.batches.get(path.rpartition("/")[2])
        if found is None:
            return fails(404, "not_found_error", said="no such batch")
        if found.polls > 0:
            found.polls -= 1
        if found.polls <= 0 and found.results is None:
            found.results = [
                {"custom_id": one["custom_id"], "result": self._result(one["params"])}
                for one in reversed(found.requests)  # in no order that anyone may rely on
            ]
        return Reply(body=found.as_body(self.url))

    def _result(self, params: Body) -> Body:
        reply = self._reply_to(params, {})
        if reply.batched:
            return {"type": reply.batched}
        if reply.status != 200:
            return {"type": "errored", "error": reply.body}
        return {"type": "succeeded", "message": reply.body}

    def _lines(self, path: str) -> bytes:
        found = self.batches[path.split("/")[-2]]
        return b"".join(json.dumps(one).encode() + b"\n" for one in found.results or [])

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = json.loads(self.rfile.read(length))
                head = {name.lower(): value for name, value in self.headers.items()}
                with server._counted():
                    batched = self.path.startswith("/v1/messages/batches")
                    reply = (
                        server._batch(self.path, body) if batched else server._reply_to(body, head)
                    )
                self._send(reply)  # whoever has it may ask again before this goes on

            def do_GET(self) -> None:
                self._send(server._batch(self.path, None))

            def _send(self, reply: Reply) -> None:
                if reply.hangs:
                    server._released.wait()
                if reply.hangs or reply.garbled:
                    self.close_connection = True
                    return
                content = reply.raw or json.dumps(reply.body).encode()
                self.send_response(reply.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - overridden
                pass

        return Handler


def _message(
    content: list[Body],
    stop: str,
    read: int = 100,
    wrote: int = 20,
    cached: int = 0,
    written: int = 0,
) -> Reply:
    usage = {
        "input_tokens": read,
        "output_tokens": wrote,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }
    return Reply(
        body={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5-20251001",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
    )
