"""The page in a headless Chromium: numbers, keys, names, scripts off, and hostile text."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from browser import chromium
from live_pages import CAPTURES, Native, live_of, subject_of
from waiting import wait_until

from foreread.analyzer.report.live.inputs import live_inputs
from foreread.analyzer.report.write import write_report

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        shutil.which("chromedriver") is None, reason="no chromedriver: the page was not opened"
    ),
]

HOSTILE = [
    "/opt/</script><img src=x onerror='window.pwned=1'>.so",
    "/opt/<!--<script>window.pwned=1//.so",
    '/opt/"><svg onload=window.pwned=1>.so',
    "/opt/${window.pwned=1}`.so",
]
ANSWER = "return foreread.numbers.ask('numbers', {setting: arguments[0]})"
SETTINGS = [{"window": window} for window in (0, 32, 512)] + [
    {"window": 32, "latency": 300, "kernel": "5.10"},
    {"window": 16, "requests": 300, "limit": 8, "cpus": 1},
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        started.sized(1280, 900)
        yield started


@pytest.fixture(scope="module")
def subject():
    (capture,) = (path for path in CAPTURES if path.name.startswith("python-start"))
    found = subject_of(capture)
    paths = (*HOSTILE, *found.recording.paths[len(HOSTILE) :])
    return replace(found, recording=replace(found.recording, paths=paths))


@pytest.fixture(scope="module")
def page(subject, tmp_path_factory):
    return written(subject, tmp_path_factory.mktemp("page"), live_inputs)


def written(subject, folder, recompute):
    parts = (subject.recording, subject.prediction, None, None, folder)
    return write_report(*parts, recompute=recompute).html


def opened(browser, page, fragment=""):
    """Open a page, and wait until its exact figures are shown."""
    browser.open(page, fragment)
    wait_until(lambda: "Exact" in browser.run("return foreread.part('status').textContent"))
    wait_until(lambda: browser.run("return foreread.files.rows.length > 0"))


def test_every_number_in_the_page_is_that_of_the_native_core(browser, page, subject):
    opened(browser, page)
    for setting in SETTINGS:
        answer = browser.run(ANSWER, setting)
        device = browser.run("return deviceOf(arguments[0], foreread.meta.run.device)", setting)
        native = Native(subject.recording, live_of(subject), setting.get("kernel"))
        assert (answer["requests"], answer["pages"]) == native.counts(setting["window"])
        numbers = [str(number) for number in device]
        expected = native.times(setting["window"], numbers, setting.get("cpus"))
        assert tuple(answer[k] for k in ("total", "compute", "waited", "behind")) == expected
    assert browser.said() == []


def test_hostile_names_stay_text(browser, page):
    opened(browser, page)
    assert browser.run("return window.pwned === undefined")
    assert browser.run("return document.querySelectorAll('img, svg[onload]').length") == 0
    shown = browser.run(
        "foreread.files.most = 1e6; foreread.files.draw();"
        "return [...document.querySelectorAll('#live-files button')].map(b => b.textContent)"
    )
    assert set(HOSTILE) <= set(shown)
    browser.run(
        "foreread.map.tell({file: 0, page: 1, kind: 2, read: 0, cause: 0, accessed: null}, 9, 9)"
    )
    assert HOSTILE[0] in browser.run("return foreread.map.hint.textContent")
    assert browser.run("return window.pwned === undefined")


def test_the_policy_refuses_other_scripts_and_the_network(browser, page):
    opened(browser, page)
    added = (
        "const s = document.createElement('script'); s.textContent = 'window.added = 1';"
        "document.body.append(s); return window.added === undefined"
    )
    assert browser.run(added)
    refused = "return fetch('data:text/plain,x').then(() => 'fetched', () => 'refused')"
    assert browser.run(refused) == "refused"
    browser.run("setTimeout('window.evaluated = 1', 0)")
    later = "return new Promise(r => setTimeout(() => r(window.evaluated === undefined), 50))"
    assert browser.run(later)
    assert len(browser.said()) >= 2


def test_keys_alone_choose_a_window_and_the_address_holds_it(browser, page):
    opened(browser, page)
    browser.run("document.getElementById('live-b-window').focus()")
    before = browser.run("return foreread.fields.b.setting.window")
    browser.keys("ArrowRight", "ArrowRight", "ArrowLeft")
    assert browser.run("return foreread.fields.b.setting.window") == before + 1
    browser.keys("PageUp")
    power = browser.run("return foreread.fields.b.setting.window")
    assert power & (power - 1) == 0 and power > before
    text = browser.run("return document.getElementById('live-b-window').ariaValueText")
    assert text == f"{power * 4} KiB, {power} pages"
    fragment = browser.run("return location.hash")
    total = "return document.getElementById('live-b-total-value').textContent"
    wait_until(lambda: browser.run("return !foreread.numbers.busy.get('b')"))
    shown = browser.run(total)
    opened(browser, page, fragment)
    assert browser.run("return foreread.fields.b.setting.window") == power
    assert browser.run(total) == shown


def test_keys_move_and_describe_the_map(browser, page):
    opened(browser, page)
    browser.run("foreread.map.canvas.focus(); foreread.map.zoom(4)")
    before = browser.run("return foreread.map.view.from")
    browser.keys("ArrowLeft")
    assert browser.run("return foreread.map.view.from") < before
    browser.keys("0")
    assert browser.run("return foreread.map.view.from") == 0
    place = browser.run("return foreread.mapper.ask('point', {x: 0, y: 0})")
    assert set(place) == {"mark"}


def test_a_choice_of_a_file_zooms_to_it(browser, page):
    opened(browser, page)
    browser.run("document.querySelector('#live-files button').click()")
    view, whole = browser.run("return [foreread.map.view, foreread.map.all]")
    assert view["high"] - view["low"] < whole["high"] - whole["low"]


def test_every_control_has_a_name(browser, page):
    opened(browser, page)
    nodes = browser.devtools("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "slider", "spinbutton", "combobox", "radio", "searchbox", "image"}
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored") and node["role"]["value"] in roles
    ]
    assert {role for role, _ in named} >= {"slider", "spinbutton", "combobox", "radio"}
    assert [role for role, name in named if not name.strip()] == []


def test_without_scripts_the_page_is_the_static_one(browser, page, subject, tmp_path):
    static = written(subject, tmp_path, None)
    assert b"<script" not in static.read_bytes()
    text = "return document.body.innerText"
    browser.open(static)
    expected = browser.run(text)
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("return document.getElementById('live-section').hidden")
    assert browser.run(text) == expected


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_page_is_not_wider_than_the_screen(browser, page, dark):
    browser.sized(360, 740, dark=dark)
    opened(browser, page)
    width = browser.run("return document.documentElement.scrollWidth")
    browser.sized(1280, 900)
    assert width == 360


def test_damaged_data_is_said_and_the_report_stays(browser, page, tmp_path):
    damaged = tmp_path / "damaged.html"
    source = page.read_text()
    at = source.index('id="live-planes">') + 400
    damaged.write_text(source[:at] + "AAAA" + source[at + 4 :])
    browser.open(damaged)
    wait_until(lambda: "cannot" in browser.run("return foreread.part('status').textContent"))
    assert "Set read_ahead_kb" in browser.run("return document.body.innerText")
    # Printed now, the page has the prediction's curve, and no empty map.
    assert browser.run("return foreread.curve.missing('a').length") == 0
    shown = (
        "return [...document.querySelectorAll('.of-answers')].map((one) => one.checkVisibility())"
    )
    assert browser.run(shown) == [True, True]
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    assert browser.run(shown) == [True, False]
    browser.devtools("Emulation.setEmulatedMedia", media="")


def test_a_start_without_seconds_has_requests_by_window(browser, tmp_path):
    (capture,) = (path for path in CAPTURES if path.name.startswith("arm64-madplay.capture"))
    subject = subject_of(capture)
    opened(browser, written(subject, tmp_path, live_inputs))
    row = subject.prediction.total.windows.index(subject.current_window)
    shown = browser.run("return document.getElementById('live-a-requests-value').textContent")
    assert shown == f"{subject.prediction.total.f[row]:,}"
    assert browser.run("return document.getElementById('live-a-latency')") is None
    wait_until(lambda: browser.run("return foreread.curve.points.a.size >= 21"))
    assert browser.said() == []


def test_headers_have_text_and_what_scrolls_takes_the_focus(browser, page):
    opened(browser, page)
    texts = "return [...document.querySelectorAll('th')].map((one) => one.textContent.trim())"
    assert all(browser.run(texts))
    scrolled = browser.run(
        "return [...document.querySelectorAll('.wide')]"
        ".map((one) => [one.tabIndex, one.getAttribute('role')])"
    )
    assert {role for _, role in scrolled} == {"group", "img"}
    assert {tab for tab, _ in scrolled} == {0}
