"""The report in a real browser: Debian's chromium, driven by Playwright, read by axe-core."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.report.html import render_page
from harness.report.reported import Report
from tests.report.sides import answer, head, hostile, quality, report, side, unanswered

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    with sync_playwright() as playwright:
        # Root has no browser sandbox of its own, and a container little shared memory.
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        running = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield running
        running.close()


class Opened:
    """A page with everything that it complained about or asked for."""

    def __init__(self, browser, address: str, **context: object) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def open_all(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")


@pytest.fixture
def opened(browser, tmp_path: Path) -> Iterator[object]:
    """Opens a report as a file."""
    pages: list[Opened] = []

    def open_(found: Report, **context: object) -> Opened:
        file = tmp_path / "report.html"
        file.write_text(render_page(found), encoding="utf-8")
        pages.append(Opened(browser, file.as_uri(), **context))
        return pages[-1]

    yield open_
    for page in pages:
        page.context.close()


def one_run() -> Report:
    return report(side("run", answer("right"), answer("wrong"), unanswered()))


def two_runs() -> Report:
    from harness.comparison import compare
    from harness.store.arms import arm_of_answers

    sides = side("old", answer("wrong")), side("new", answer("right"), answer("wrong"))
    arms = [arm_of_answers(s.name, s.head, s.answers) for s in sides]
    return report(
        *sides,
        comparison=compare(*arms, allow=True),
        notes=("The bank has changed.",),
        quality=quality(),
    )


def test_it_opens_in_silence_and_loads_nothing_but_itself(opened):
    """No message on the console, no request beside the file."""
    found = opened(one_run())

    assert found.said == []
    assert len(found.asked) == 1


def test_nothing_of_a_hostile_transcript_runs(opened):
    """Opened, hovered, focused: no script, no request, no complaint of the policy."""
    found = opened(report(side("run", hostile())))
    found.open_all()
    for link in found.page.locator("main a").all():
        link.click()
    for _ in range(30):
        found.page.keyboard.press("Tab")

    assert found.page.evaluate("window.owned") is None
    assert found.said == []
    assert len(found.asked) == 1


def test_the_filter_leaves_what_was_chosen_and_counts_it(opened):
    """By what answers came to, by a property, by a word; and back."""
    page = opened(one_run()).page
    visible = page.locator(".answer:visible")

    page.get_by_label("came to").select_option("wrong")
    assert visible.count() == 1
    assert page.get_by_text("1 of 3 answers shown").is_visible()

    page.get_by_role("button", name="Show all").click()
    page.get_by_text("3 of 3 answers shown").wait_for()
    page.get_by_label("fails").select_option("clip-before-step")
    assert visible.count() == 1

    page.get_by_label("scenario or file").fill("no such word")
    assert page.get_by_text("0 of 3 answers shown").is_visible()
    assert not page.locator(".scenario").is_visible()


def test_a_keyboard_is_enough(opened):
    """From the first key to an open answer."""
    page = opened(one_run()).page

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answers"
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.answer > summary')"):
            break
    page.keyboard.press("Enter")

    assert page.locator(".answer[open]").count() == 1


def test_without_scripts_everything_can_be_read(opened):
    """Only the filters are missing."""
    page = opened(one_run(), java_script_enabled=False).page

    assert not page.locator("#filters").is_visible()
    page.locator(".answer > summary").nth(1).click()
    assert page.get_by_text("In loud, update 0 the optimizer consumed norm 17.1").is_visible()
    page.locator(".transcript > summary").nth(1).click()
    assert page.locator(".proposed", has_text="optimizer.step()").nth(1).is_visible()


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("made", [one_run, two_runs])
def test_axe_finds_nothing_and_the_page_fits(opened, made, scheme, width):
    """Everything unfolded; wide tables and code scroll in boxes of their own."""
    from axe_playwright_python.sync_playwright import Axe

    found = opened(made(), color_scheme=scheme, viewport={"width": width, "height": 800})
    found.open_all()

    broken = [
        (one["id"], one["nodes"][0]["html"]) for one in Axe().run(found.page).response["violations"]
    ]
    assert broken == []
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_thousand_answers_stay_usable(opened):
    """The page opens, filters and stays below 20 MB."""
    many = [answer("wrong" if n % 3 else "right", f"number {n}") for n in range(1000)]
    page = opened(report(side("run", *many))).page

    page.get_by_label("came to").select_option("right")

    assert page.get_by_text("334 of 1000 answers shown").is_visible()
    assert len(page.content()) < 20e6


def test_stored_runs_are_listed_opened_and_compared(browser, tmp_path):
    """Newest first; two are chosen with a form."""
    from axe_playwright_python.sync_playwright import Axe

    from harness.cli.serving import HERE, serving
    from harness.domain.stored import Told
    from harness.store import RunFolder

    for name, code in (("before", "wrong"), ("after", "right")):
        with RunFolder.create(tmp_path / name, head()) as run:
            run.add(Told(answer(code)))
    with serving(tmp_path, 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        found = Opened(browser, f"http://{HERE}:{server.server_port}/", color_scheme="dark")
        page = found.page
        assert Axe().run(page).response["violations"] == []
        page.get_by_label("before as the old run").check()
        page.get_by_label("after as the new run").check()
        page.get_by_role("button", name="Compare").click()
        assert page.get_by_role("heading", name="before and after").is_visible()
        page.go_back()
        page.get_by_role("link", name="after").click()
        assert page.get_by_role("heading", name="after", exact=True).is_visible()
        assert found.said == []
        found.context.close()
        server.shutdown()
