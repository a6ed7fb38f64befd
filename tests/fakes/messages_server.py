"""A server on loopback that speaks the Messages API, for the real SDK to talk to."""

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


class MessagesServer:
    """Answers requests in order from ``replies``, or by ``answer`` when that is given."""

    def __init__(self, answer: Callable[[Body], Reply] | None = None) -> None:
        self.replies: deque[Reply] = deque()
        self.requests: list[Body] = []
        self.heads: list[dict[str, str]] = []
        self.most_at_once = 0
        self._answer = answer
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
            if self._answer is None:
                if not self.replies:
                    return fails(400, "invalid_request_error", said="the test expected no request")
                return self.replies.popleft()
        return self._answer(body)

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
                    reply = server._reply_to(body, head)
                self._send(reply)  # whoever has it may ask again before this goes on

            def _send(self, reply: Reply) -> None:
                if reply.hangs:
                    server._released.wait()
                if reply.hangs or reply.garbled:
                    self.close_connection = True
                    return
                content = json.dumps(reply.body).encode()
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
