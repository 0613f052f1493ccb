"""The report as files: self-contained, well-formed, deterministic, and complete in odd cases."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib
import msgspec
import pytest

from foreread.analyzer.predict.validate import validate
from foreread.analyzer.report.answer import answer
from foreread.analyzer.report.page import render
from foreread.analyzer.report.provenance import again
from foreread.analyzer.report.sections import sections
from foreread.analyzer.report.style import drawing
from foreread.analyzer.report.subject import Subject
from foreread.analyzer.report.worth import spread_of
from foreread.analyzer.report.write import write_report
from foreread.tracer.formats.capture import NO_METADATA

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}


class Checker(HTMLParser):
    """Fails on tags that do not nest; collects tags, ids, attributes and visible text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.attributes, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def check(source):
    parser = Checker()
    parser.feed(source.replace("<wbr>", ""))
    parser.close()
    assert not parser.open
    return parser


def subject_of(make, recording, *, swept=False, **prediction):
    predicted = make.prediction(recording, **prediction)
    sweep = make.sweep(predicted) if swept else None
    return Subject(recording, predicted, sweep, validate(predicted, sweep) if sweep else None)


def write(subject, output):
    """Write all files; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = write_report(
            subject.recording, subject.prediction, subject.sweep, subject.validation, output
        )
    return files, check(files.html.read_text(encoding="utf-8"))


def page_of(subject):
    """Return the page's source; a warning is an error."""
    with warnings.catch_warnings(), drawing():
        warnings.simplefilter("error")
        return render("title", "subtitle", sections(subject), "0")


def answer_of(subject):
    """Return the text of the first section."""
    return text_of(check(render("title", "subtitle", [answer(subject)], "0")))


@pytest.fixture(scope="module")
def swept(app, make):
    return subject_of(make, app, swept=True)


@pytest.fixture(scope="module")
def written(swept, tmp_path_factory):
    return write(swept, tmp_path_factory.mktemp("report"))


@pytest.fixture
def small(make):
    return make.recording([(0, 0), (0, 1), (1, 7), (0, 5)], sizes=[40960, 40960])


def text_of(page):
    return re.sub(r"\s+", " ", " ".join(page.text))


def test_page_is_self_contained_and_without_script(written):
    files, page = written
    source = files.html.read_text(encoding="utf-8")
    assert not re.search(r"https?:|[\"'(]//|@import|javascript:", source)
    assert not {"script", "iframe", "link", "object", "embed", "base"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in {"src", "href", "xlink:href"}:
            assert value.startswith(("data:image/png;base64,", "#"))


def test_identifiers_are_unique_over_all_figures(written):
    _, page = written
    assert len(page.ids) == len(set(page.ids))


def test_references_inside_figures_resolve(written):
    files, page = written
    source = files.html.read_text(encoding="utf-8")
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', source))
    assert {a or b for a, b in used} <= set(page.ids)


def test_every_figure_of_the_page_is_a_png_too(written):
    files, page = written
    assert page.tags.count("figure") == len(files.figures) == 9
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files.figures)
    assert files.pdf.read_bytes().startswith(b"%PDF-")


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes_and_each_drawing_is_counted(swept, written, tmp_path):
    first, _ = written
    heard = []
    second = write_report(
        swept.recording,
        swept.prediction,
        swept.sweep,
        swept.validation,
        tmp_path,
        drawn=lambda *parts: heard.append(parts),
    )
    total = len(second.figures)
    assert heard == [(done, total) for done in range(1, total + 1)]
    for one, two in zip(
        (first.html, first.pdf, *first.figures),
        (second.html, second.pdf, *second.figures),
        strict=True,
    ):
        assert one.read_bytes() == two.read_bytes(), one.name


@pytest.mark.thorough
def test_the_callers_matplotlib_settings_neither_matter_nor_change(small, make):
    subject = subject_of(make, small)
    plain = page_of(subject)
    with matplotlib.rc_context({"text.color": "red", "svg.fonttype": "path", "figure.dpi": 300}):
        before = dict(matplotlib.rcParams)
        assert page_of(subject) == plain
        assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("action", ["set", "keep", "none"])
def test_the_answer_is_the_first_heading(small, make, action):
    subject = subject_of(make, small, action=action)
    heading = re.search(r"<h1>(.*?)</h1>", render("t", "s", [answer(subject)], "0")).group(1)
    assert (
        heading
        == {
            "set": f"Set read_ahead_kb to {subject.window_kb} KiB (now 128 KiB)",
            "keep": "Keep read_ahead_kb at 128 KiB",
            "none": "Keep the current settings: no window to recommend",
        }[action]
    )


def test_figures_of_the_answer_are_the_predictions(app, make):
    subject = subject_of(make, app, seconds=True)
    total = subject.prediction.total
    best = total.windows.index(total.predicted_best)
    shown = answer_of(subject)
    for number in (total.f[best], total.pages[best], total.f[0]):
        assert f"{number:,}" in shown


def test_measurements_that_contradict_are_said_before_all_else(swept):
    predicted = swept.prediction
    wrong = replace(predicted, verdict=msgspec.structs.replace(predicted.verdict, read_ahead_kb=0))
    section = answer(replace(swept, prediction=wrong))
    assert section.blocks[0].warning
    assert section.blocks[0].items[0].startswith("The measurements contradict this")


def with_runs(subject, **seconds_by_kb):
    """Return the subject with other measured seconds at some windows, given as ``kb32=[…]``."""
    points = [
        msgspec.structs.replace(p, seconds=seconds_by_kb.get(f"kb{p.read_ahead_kb}", p.seconds))
        for p in subject.sweep.points
    ]
    sweep = msgspec.structs.replace(subject.sweep, points=points)
    return replace(subject, sweep=sweep, validation=validate(subject.prediction, sweep))


@pytest.mark.parametrize("action", ["set", "keep"])
def test_the_headline_is_what_measurements_show_clearly(make, app, action):
    found = subject_of(make, app, swept=True, action=action)
    proposed = found.prediction.verdict.read_ahead_kb
    slow = {f"kb{proposed}": [9.0, 9.1, 9.2], "kb48": [0.1, 0.1, 0.1]}
    section = answer(with_runs(found, **slow))
    assert section.title == f"Measured fastest: 48 KiB, not the predicted {proposed:,} KiB"
    said = text_of(check(render("t", "s", [section], "0")))
    assert "Predicted: C_opt" in said
    assert "echo" not in said  # nothing to set that was measured to be slower
    noisy = {f"kb{proposed}": [0.09, 0.11, 0.12], "kb48": [0.08, 0.1, 0.13]}
    title = answer(with_runs(found, **noisy)).title
    assert title.startswith({"set": "Set read_ahead_kb", "keep": "Keep read_ahead_kb"}[action])


def test_page_one_names_the_board_and_the_cost_of_its_disk(make, app):
    found = subject_of(make, app, seconds=True)
    known = replace(found.prediction, disk_cost="500 µs a request and 20 µs a KiB")
    said = answer_of(replace(found, prediction=known))
    assert "kitchen-tv: 4 × ARM Cortex-A53, 1 GiB, Linux 6.1.0-41-arm64" in said
    assert "loop0: 500 µs a request and 20 µs a KiB" in said
    assert "cost unknown" in answer_of(found)


def test_equal_runs_have_no_range_of_zeros():
    assert spread_of([2.0, 2.0, 2.0001]) == "less than 0.1 %"
    assert spread_of([2.0, 2.0, 2.1]) == "0.0 … +5.0 %"
    assert spread_of([2.0]) == "–"


def test_wide_tables_and_figures_say_that_they_scroll(written):
    _, page = written
    hints = text_of(page).count("sideways")
    wide = sum(name == "class" and value == "scroll" for name, value in page.attributes)
    assert hints == wide >= page.tags.count("figure")


def test_measured_points_stand_beside_the_curve_of_the_disk_that_was_swept(make):
    """The total has the other disk's reads, too, which the sweep did not count."""
    accesses, paths, sizes = make.application(files=12)
    recording = make.recording(accesses, paths=paths, sizes=sizes, devices=("7:0", "179:8"))
    found = subject_of(make, recording, swept=True)
    found = replace(found, prediction=replace(found.prediction, model="linux-6.1.0"))
    kernel, fixed = found.compared
    assert (kernel.name, fixed.dev) == ("loop0", "7:0")
    assert kernel.tap < found.prediction.total.tap
    assert [one.name for one in replace(found, validation=None).compared] == ["total", "total"]


def test_hostile_names_are_shown_and_harmless(make, tmp_path):
    accesses = [(row, page) for row in range(len(make.hostile)) for page in range(3)]
    command = ["/bin/sh", "-c", "</title><script>x</script>\n\udcff\ud800"]
    recording = make.recording(accesses, paths=make.hostile, capture=make.capture(command=command))
    files, page = write(subject_of(make, recording), tmp_path)
    assert "script" not in page.tags
    shown = text_of(page)
    assert "/opt/<script>alert(1)</script>.so" in shown
    assert r"/opt/line\nbreak\ttab\x1b[31m.so" in shown
    assert r"/opt/undecodable\xff\x80.bin" in shown
    assert r"/opt/$\frac{a}{$_^{.so" in shown
    assert "{{ 7*7 }}{% raw %}" in shown
    assert r"/opt/\u202egpj.exe" in shown
    assert "語" in shown  # the reader's fonts may have it; figures say \u8a9e
    assert "inode 109 on 7:0" in shown
    assert "\u202e" not in files.html.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_hostile_board_is_harmless(make):
    evil = "</dd></style><script>x</script>\n\u202e$x^{\udcff"
    made, change = make.capture(), msgspec.structs.replace
    made = change(
        made,
        host=change(made.host, nodename=evil, cpu_model=evil, version=evil),
        devices=[change(made.devices[0], name=evil, model=evil, queue={"scheduler": evil})],
        mounts=[change(made.mounts[0], mountpoint=evil, options=evil)],
        notes=[evil],
        events=[evil],
        created=evil,
        cwd=evil,
        lost={evil: 3},
        cold=change(made.cold, how=evil),
    )
    recording = make.recording([(0, 0), (1, 1)], capture=made)
    subject = subject_of(make, recording, notes=(evil,))
    curve = msgspec.structs.replace(subject.prediction.total, name=evil)
    named = replace(subject.prediction, devices=[curve, curve])
    page = page_of(replace(subject, prediction=named))
    assert "script" not in check(page).tags


@pytest.mark.thorough
@pytest.mark.parametrize("measured", [False, True])
def test_nothing_accessed(make, tmp_path, measured):
    files, page = write(subject_of(make, make.recording([]), swept=measured), tmp_path)
    assert "read no page" in text_of(page)
    assert len(files.figures) == (3 if measured else 0)


@pytest.mark.thorough
def test_a_single_access(make):
    page = page_of(subject_of(make, make.recording([(0, 0)], sizes=[100]), swept=True))
    assert check(page).tags.count("figure") == 9


def test_one_window_and_large_pages(make):
    subject = subject_of(make, make.recording([(0, 0), (0, 9)], sizes=[1 << 20]))
    total = subject.prediction.total
    lists = ("windows", "f", "g", "g_formula", "pages", "c_opt")
    one = {name: getattr(total, name)[4:5] for name in lists}
    curve = msgspec.structs.replace(
        total, **one, read_ahead_kb=[64], quasi_optimal=total.windows[4], pareto=[]
    )
    prediction = replace(subject.prediction, page_size=16384, devices=[curve], total=curve)
    assert "64 KiB" in page_of(replace(subject, prediction=prediction))


def test_only_reads_of_the_disks_that_matter_are_drawn(make):
    recording = make.recording([(0, 0), (0, 1), (0, 2)])
    recording.requests["dev"][0] = 99
    subject = subject_of(make, recording)
    assert subject.reads.tolist() == [False, True, True]
    recording.requests["dev"][:] = 99  # as in a foreign trace that names partitions
    assert subject_of(make, recording).reads.tolist() == [True, True, True]


def test_several_devices_have_a_table_and_figures_each(make):
    accesses, paths, sizes = make.application(files=12)
    recording = make.recording(accesses, paths=paths, sizes=sizes, devices=("7:0", "179:8"))
    page = check(page_of(subject_of(make, recording)))
    shown = text_of(page)
    assert "loop0 (7:0)" in shown
    assert "loop1 (179:8)" in shown
    assert "requests and unused pages, loop1." in shown
    assert page.tags.count("figure") == 10


def test_a_foreign_trace_says_what_it_lacks(make):
    recording = make.recording([(0, 0), (0, 3)], capture=NO_METADATA)
    shown = text_of(check(page_of(subject_of(make, recording))))
    assert "A foreign trace" in shown
    assert "To repeat it" not in shown
    assert "/sys/block" not in shown


def commands_of(section):
    """Return the words of each command that a section shows."""
    return [
        shlex.split(line)
        for block in section.blocks
        if block.kind == "code"
        for line in block.lines
    ]


def test_commands_that_repeat_a_target_s_start_name_the_target_and_no_folder_here(make, app):
    made = make.capture(options=["--target", "ssh://root@board", "--duration", "5"])
    found = subject_of(make, app, swept=True)
    capture = msgspec.structs.replace(made, mounts=app.capture.mounts)
    target = replace(found, recording=replace(app, capture=capture))
    record, predict, sweep, report = commands_of(again(target))
    assert record[:2] == ["foreread", "record"]
    assert record[record.index("--target") + 1] == "ssh://root@board"
    assert sweep[sweep.index("--target") + 1] == "ssh://root@board"
    assert sweep[sweep.index("--device") + 1] == "loop0"
    made_by_record = record[record.index("-o") + 1]
    assert sweep[-1] == made_by_record  # with its command, its options and its check of the board
    assert made_by_record in predict
    assert report[2:4] == [made_by_record, sweep[sweep.index("-o") + 1]]


def test_commands_that_repeat_a_local_start_begin_in_its_folder(make, app, swept):
    other = msgspec.structs.replace(swept.sweep, command=["/bin/other start", "-x"])
    record, _, sweep, _ = commands_of(again(replace(swept, sweep=other)))
    assert record[:4] == ["cd", "/", "&&", "foreread"]
    assert sweep[-3:] == ["--", "/bin/other start", "-x"]
    assert "--target" not in sweep


def test_a_window_is_set_on_the_recorded_board(make, app):
    board = msgspec.structs.replace(app.capture, options=["--target", "arm64"])
    section = answer(subject_of(make, replace(app, capture=board, path="a b.capture")))
    shown = " ".join(block.text for block in section.blocks if block.kind == "paragraph")
    assert "as root on the board (arm64), not on this machine" in shown
    script = commands_of(section)[-1]
    assert script == shlex.split("foreread script 'a b.capture' -o boot --install --target arm64")


def test_a_window_is_set_by_ssh_on_a_board_that_ssh_reaches(make, app):
    options = ["--target", "ssh://root@board:22", "--identity", "/k e/y"]
    board = msgspec.structs.replace(app.capture, options=options)
    section = answer(subject_of(make, replace(app, capture=board, path="a.capture")))
    once, script = commands_of(section)
    kb = subject_of(make, app).prediction.verdict.read_ahead_kb
    line = f"echo {kb} > /sys/block/loop0/queue/read_ahead_kb"
    assert once == ["ssh", "-i", "/k e/y", "--", "ssh://root@board:22", line]
    assert script[-4:] == options


@pytest.mark.parametrize(
    ("changes", "capture", "said"),
    [
        ({"contaminated": True}, {}, "contaminated"),
        ({}, {"lost": {"0": 7, "1": 5}}, "12 events lost"),
        ({}, {"exit_status": 3}, "status 3"),
        ({}, {"signal": 11, "exit_status": None}, "signal 11"),
    ],
)
def test_warnings_are_shown_with_the_answer(make, changes, capture, said):
    recording = make.recording([(0, 0), (0, 3)], capture=make.capture(**capture), **changes)
    assert said in answer_of(subject_of(make, recording))


def test_cold_not_proven_is_said(make):
    made = make.capture()
    warm = msgspec.structs.replace(made.cold, proven=False)
    recording = make.recording([(0, 0)], capture=msgspec.structs.replace(made, cold=warm))
    assert "could not be shown to be cold" in answer_of(subject_of(make, recording))


def test_a_clean_recording_has_no_such_caveat(small, make):
    shown = answer_of(subject_of(make, small))
    assert not re.search("contaminated|lost|not proven|failed|foreign", shown)


@pytest.mark.thorough
def test_two_hundred_thousand_accesses_stay_below_a_megabyte(make):
    accesses = [(row % 500, row // 500) for row in range(200_000)]
    subject = subject_of(make, make.recording(accesses, step_ns=50_000))
    assert len(page_of(subject).encode()) < 1_000_000


def test_a_damaged_page_index_is_survived(make):
    page = page_of(subject_of(make, make.recording([(0, 0), (0, 2**63), (1, 2**64 - 1)])))
    assert "/usr/lib/file1.so" in page.replace("<wbr>", "")


@pytest.mark.thorough
def test_figures_are_made_without_pyplot():
    """Nothing remains that could leak, and no display or window system is looked for."""
    script = (
        "import sys\nfrom matplotlib.figure import Figure\n"
        "from foreread.analyzer.report import style\n"
        "with style.drawing(): style.axes(Figure(figsize=(4, 3)))\n"
        "print('matplotlib.figure' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert done.stdout == b"True False\n"
