"""Stored runs on a local page."""

from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from harness.cli.reporting import written_report
from harness.domain.errors import UsageError, UserError
from harness.report.html import RunEntry, render_index, render_problem
from harness.report.reported import ReportSide, tally_in_words
from harness.store import RunFolder, is_run
from harness.store.arms import numbered

HERE = "127.0.0.1"


def serving(folder: Path, port: int, bank: Path | None = None) -> ThreadingHTTPServer:
    """A server that listens on the loopback interface only; ``serve_forever`` starts it.

    Raises:
        UsageError: there is no such folder, or the port is taken.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder with stored runs in it")
    shelf = RunShelf(folder, bank)
    try:
        return ThreadingHTTPServer((HERE, port), lambda *given: _Handler(shelf, *given))
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}; choose another with --port") from error


class RunShelf:
    """The runs of a folder, as pages."""

    def __init__(self, folder: Path, bank: Path | None = None) -> None:
        """Runs are looked for in the folder, in its folders and in theirs."""
        self._folder = folder
        self._bank = bank

    def index(self) -> str:
        """Newest first."""
        runs = sorted(self._runs().items(), key=lambda one: -_changed(one[1]))
        entries = [_entry(name, path, _changed(path)) for name, path in runs]
        return render_index(str(self._folder.resolve()), entries)

    def report(self, *names: str) -> str:
        """One run, or two side by side.

        Raises:
            UsageError: there is no run of that name here.
        """
        runs = self._runs()
        for name in names:
            if name not in runs:
                raise UsageError(f"there is no run {name} here")
        paths = tuple(runs[name] for name in names)
        return _report(paths, tuple(map(_changed, paths)), self._bank)

    def _runs(self) -> dict[str, Path]:
        found = [self._folder, *self._folder.glob("*"), *self._folder.glob("*/*")]
        return {path.relative_to(self._folder).as_posix(): path for path in found if is_run(path)}


class _Handler(BaseHTTPRequestHandler):
    """Reads, never writes. The pages bring their own content security policy."""

    def __init__(self, shelf: RunShelf, *given: object) -> None:
        self._shelf = shelf
        super().__init__(*given)  # type: ignore[arg-type]  # as socketserver hands them over

    def do_GET(self) -> None:
        assert isinstance(self.server, ThreadingHTTPServer)
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{HERE}:{port}", f"localhost:{port}"):
            # A page elsewhere may have had its own name resolved to this machine.
            self._answer(HTTPStatus.FORBIDDEN, render_problem("this page is for this machine"))
            return
        try:
            page = self._page()
        except UserError as error:
            self._answer(HTTPStatus.NOT_FOUND, render_problem(str(error)))
        else:
            self._answer(HTTPStatus.OK, page)

    def _page(self) -> str:
        asked = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(asked.query).items()}
        wanted = {"/": (), "/run": ("name",), "/compare": ("old", "new")}.get(asked.path)
        if wanted is None or any(name not in given for name in wanted):
            raise UsageError("there is no such page")
        names = [given[name] for name in wanted]
        return self._shelf.report(*names) if names else self._shelf.index()

    def _answer(self, status: HTTPStatus, page: str) -> None:
        body = page.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """In silence: the terminal belongs to whoever started it."""


def _changed(run: Path) -> float:
    """When its last answer was stored, in seconds since 1970."""
    lines = run / "answers.jsonl"
    return (lines if lines.exists() else run).stat().st_mtime


@lru_cache(maxsize=4)
def _report(paths: tuple[Path, ...], _changed: tuple[float, ...], bank: Path | None) -> str:
    return written_report(paths, "html", bank)


@lru_cache(maxsize=1000)
def _entry(name: str, path: Path, changed: float) -> RunEntry:
    when = datetime.fromtimestamp(changed, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    try:
        with RunFolder.load(path) as run:
            said = tally_in_words(ReportSide(name, run.head, numbered(run)).count())
            return RunEntry(name, when, said, run.head)
    except UserError as error:
        return RunEntry(name, when, str(error))
