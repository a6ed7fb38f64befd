"""The report in a real browser: Debian's chromium, driven by Playwright, read by axe-core."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.cli.serving import HERE, serving
from harness.domain.stored import GradedAnswer
from harness.report.html import render_page
from harness.report.reported import Report
from harness.store import RunFolder
from tests.report.sides import answer, head, hostile, quality, report, side, unanswered

pytestmark = pytest.mark.full

PATIENCE = 120_000
"""Milliseconds that are no limit for a busy machine. What waits goes on as soon as it can."""


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


@pytest.fixture(scope="module")
def expect():
    """Claims that wait: ``is_visible`` and ``count`` tell what is there while a page still loads."""
    from playwright import sync_api

    sync_api.expect.set_options(timeout=PATIENCE)
    return sync_api.expect


class Opened:
    """A page with everything that it complained about or asked for."""

    def __init__(self, window, address: str) -> None:
        window.set_default_timeout(PATIENCE)
        self.page = window.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def open_all(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")


@pytest.fixture
def visited(browser) -> Iterator[Callable[..., Opened]]:
    """Opens an address; however the test ends, no window stays."""
    with ExitStack() as stack:

        def open_(address: str, **context: object) -> Opened:
            window = stack.enter_context(browser.new_context(**context))
            return Opened(window, address)

        yield open_


@pytest.fixture
def opened(visited, tmp_path: Path) -> Callable[..., Opened]:
    """Opens a report as a file."""

    def open_(found: Report, **context: object) -> Opened:
        file = tmp_path / "report.html"
        file.write_text(render_page(found), encoding="utf-8")
        return visited(file.as_uri(), **context)

    return open_


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of a page of two stored runs; however the test ends, its server ends."""
    for name, code in (("before", "wrong"), ("after", "right")):
        with RunFolder.create(tmp_path / name, head()) as run:
            run.add(GradedAnswer(answer(code)))
    with serving(tmp_path, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{HERE}:{server.server_port}/"
        server.shutdown()
        thread.join()


def one_run() -> Report:
    return report(side("run", answer("right"), answer("wrong"), unanswered()))


def two_runs() -> Report:
    from harness.comparison import compare
    from harness.store.arms import arm_of_answers

    sides = side("old", answer("wrong")), side("new", answer("right"), answer("wrong"))
    arms = [arm_of_answers(s.name, s.head, s.answers) for s in sides]
    return report(
        *sides,
        comparison=compare(*arms, anyway=True),
        notes=("The bank has changed.",),
        quality=quality(),
    )


def test_a_report_opens_in_silence_and_loads_nothing_but_itself(opened):
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


def test_the_filter_leaves_what_was_chosen_and_counts_it(opened, expect):
    """By what answers came to, by a property, by a word; and back."""
    page = opened(one_run()).page
    visible = page.locator(".answer:visible")

    page.get_by_label("came to").select_option("wrong")
    expect(visible).to_have_count(1)
    expect(page.get_by_text("1 of 3 answers shown")).to_be_visible()

    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_text("3 of 3 answers shown")).to_be_visible()
    page.get_by_label("fails").select_option("clip-before-step")
    expect(visible).to_have_count(1)

    page.get_by_label("scenario or file").fill("no such word")
    expect(page.get_by_text("0 of 3 answers shown")).to_be_visible()
    expect(page.locator(".scenario")).to_be_hidden()


def test_a_keyboard_is_enough(opened, expect):
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

    expect(page.locator(".answer[open]")).to_have_count(1)


def test_without_scripts_everything_can_be_read(opened, expect):
    """Only the filters are missing."""
    page = opened(one_run(), java_script_enabled=False).page

    expect(page.locator("#filters")).to_be_hidden()
    page.locator(".answer > summary").nth(1).click()
    expect(
        page.get_by_text("On large gradients, in its first update the optimizer consumed norm 17.1")
    ).to_be_visible()
    page.locator(".transcript > summary").nth(1).click()
    expect(page.locator(".proposed", has_text="optimizer.step()").nth(1)).to_be_visible()


@pytest.mark.parametrize("width", [360, 400, 1280])
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


def different(number: int, code: str = "wrong"):
    """An answer like no other."""
    one = answer(code, f"number {number}")
    (program,) = one.answer.alternatives
    own = program.model_copy(update={"program": f"{program.program}# {number}\n"})
    graded = one.answer.model_copy(update={"alternatives": (own,)})
    return one.model_copy(update={"answer": graded})


def test_sixty_answers_take_a_second_and_a_megabyte(opened, expect):
    """Each with pictures of its own, from the address to a filter that answers."""
    found = report(side("run", *(different(n) for n in range(60))))
    page = opened(found).page
    timing = "performance.getEntriesByType('navigation')[0].domComplete"

    expect(page.get_by_text("60 of 60 answers shown")).to_be_visible()
    assert page.evaluate(timing) < 1000
    assert len(render_page(found).encode()) < 1e6
    assert page.locator("svg").count() == 180


def test_figures_stand_on_top_and_identical_trials_in_one_place(opened, expect):
    """With intervals; of three equal trials one is shown whole, and each can be linked to."""
    page = opened(
        report(side("run", answer("right"), *[answer("wrong", str(n)) for n in (1, 2)]))
    ).page

    expect(page.locator(".figures .right")).to_contain_text("33% (6% to 79%)")
    expect(page.locator(".answer")).to_have_count(2)
    expect(page.get_by_role("heading", name="trials 2, 3")).to_be_visible()
    page.goto(f"{page.url}#answer-0-0-3")
    expect(page.get_by_text("Trial 3: the same program; what was said")).to_be_visible()


@pytest.mark.parametrize("width", [400, 1280])
def test_the_matrix_is_readable(opened, width):
    """Its words are not cut, and what does not fit scrolls in a box that a keyboard reaches."""
    page = opened(two_runs(), viewport={"width": width, "height": 800}).page
    box = page.locator(".matrix").first
    sizes = box.evaluate(
        "t => [...t.querySelectorAll('th')].map(c => c.scrollWidth - c.clientWidth)"
    )

    assert max(sizes) <= 1
    assert box.evaluate("t => parseFloat(getComputedStyle(t).fontSize)") >= 14
    assert page.locator(".scroll").first.get_attribute("tabindex") == "0"


def test_a_thousand_answers_stay_usable(opened, expect):
    """The page opens, filters and stays below 20 MB."""
    many = [different(n, "wrong" if n % 3 else "right") for n in range(1000)]
    page = opened(report(side("run", *many))).page

    page.get_by_label("came to").select_option("right")

    expect(page.get_by_text("334 of 1000 answers shown")).to_be_visible()
    assert len(page.content()) < 20e6


def test_stored_runs_are_listed_opened_and_compared(visited, address, expect):
    """Newest first; two are chosen with a form."""
    from axe_playwright_python.sync_playwright import Axe

    found = visited(address, color_scheme="dark")
    page = found.page
    assert Axe().run(page).response["violations"] == []

    page.get_by_label("before as the old run").check()
    page.get_by_label("after as the new run").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="before and after")).to_be_visible()

    page.go_back()
    page.get_by_role("link", name="after").click()
    expect(page.get_by_role("heading", name="after", exact=True)).to_be_visible()
    assert found.said == []
