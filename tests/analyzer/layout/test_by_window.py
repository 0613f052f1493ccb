"""A start from compressed EROFS at every window, predicted with its image and measured."""

import json
import lzma
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from image_trees import built, tree_of

from foreread import load
from foreread.analyzer.layout import by_window
from foreread.analyzer.layout import on_erofs as on_erofs_module
from foreread.analyzer.layout.by_window import large_clusters, predict_on_image
from foreread.analyzer.layout.cluster_cpu import cluster_cost
from foreread.analyzer.layout.on_erofs import on_erofs
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.seconds import Unpacking
from foreread.analyzer.predict.choice import ChoiceError
from foreread.cli.main import main
from foreread.emulator.images.erofs import read_erofs
from foreread.emulator.images.erofs_rules import erofs_rules
from foreread.emulator.images.source import ImageError
from foreread.emulator.linux.operations import Op
from foreread.question import Question

DATA = Path(__file__).parents[2] / "foreread/data/erofs-lz4-madplay"
CAPTURE = DATA / "erofs-lz4-madplay.capture.tar.xz"
DISK = DATA / "disk.toml"
SWEEP = DATA / "sweep.json"
MEASURED = {
    point["read_ahead_kb"]: point["seconds"][0] for point in json.loads(SWEEP.read_text())["points"]
}


@pytest.fixture(scope="module")
def recording():
    return load(CAPTURE)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The tables of the image that was recorded."""
    path = tmp_path_factory.mktemp("image") / "image"
    path.write_bytes(lzma.decompress((DATA / "image.xz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def prediction(recording, image):
    return predict_on_image(recording, image, [1, 4, 24, 32, 128], DISK)


def test_a_start_with_pages_of_16_kib_is_to_be_measured(recording, image):
    """Reads of EROFS are emulated for pages of 4 KiB."""
    with pytest.raises(LayoutError, match="has 16 KiB") as caught:
        predict_on_image(replace(recording, page_size=16384), image, [32], DISK)
    assert caught.value.remedy.startswith("foreread sweep ")


def at(column, prediction):
    return dict(zip(prediction.total.read_ahead_kb, column, strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("kb", MEASURED)
def test_every_measured_window_is_in_the_band(prediction, kb):
    total = prediction.total
    assert at(total.seconds, prediction)[kb] == pytest.approx(MEASURED[kb], rel=0.03)
    assert at(total.seconds_low, prediction)[kb] <= MEASURED[kb]
    assert at(total.seconds_high, prediction)[kb] >= MEASURED[kb]


def test_requests_are_those_that_the_kernel_sent_beside_eleven_of_metadata(prediction):
    requests = at(prediction.total.f, prediction)
    measured = {
        point["read_ahead_kb"]: point["requests"][0]
        for point in json.loads(SWEEP.read_text())["points"]
    }
    beside = {kb: measured[kb] - requests[kb] for kb in (4, 16, 128)}
    assert beside == {4: 11, 16: 11, 128: 10}
    assert prediction.total.metadata_requests == prediction.total.metadata_pages == 11


def test_the_verdict_is_by_seconds(prediction):
    assert (prediction.verdict.action, prediction.verdict.by) == ("set", "seconds")
    assert prediction.total.seconds_at(0) == pytest.approx(0.220, abs=0.002)
    assert "to unpack a page" in prediction.notes[1]


@pytest.mark.thorough
def test_without_a_disk_model_its_cost_is_learnt_from_the_capture(recording, image):
    learnt = predict_on_image(recording, image, [4, 32])
    assert learnt.total.windows == [0, 4, 32]
    given = predict_on_image(recording, image, [4, 32], DISK)
    assert learnt.total.seconds == pytest.approx(given.total.seconds, rel=0.02)


@pytest.mark.thorough
def test_before_6_6_the_disk_waits_while_the_only_processor_unpacks(recording, image, monkeypatch):
    def seconds():
        slow = {"lz4": Unpacking(100_000.0)}
        found = predict_on_image(recording, image, [32], DISK, unpacking=slow)
        return found.total.seconds_at(32)

    before = seconds()
    rules = replace(erofs_rules((6, 12, 0)), unpacks_first=True)
    monkeypatch.setattr(on_erofs_module, "erofs_rules", lambda version: rules)
    assert seconds() > before + 0.002
    assert erofs_rules((6, 1, 0)).unpacks_first and not erofs_rules((6, 12, 0)).unpacks_first


@pytest.mark.thorough
def test_a_given_time_to_unpack_replaces_the_learnt_one(recording, image):
    quick, slow = (
        predict_on_image(recording, image, [32], DISK, unpacking={"lz4": Unpacking(page_ns)})
        for page_ns in (0.0, 100_000.0)
    )
    assert slow.total.seconds_at(32) > quick.total.seconds_at(32) + 0.005


def test_the_cost_of_clusters_is_unknown_without_reads_that_show_it(recording, image):
    calls = on_erofs(recording, read_erofs(image.read_bytes())).counting(0)[0].calls
    found = cluster_cost(recording, calls, 0)
    assert 1_000 < found.unpack_page_ns + found.ready_page_ns < 50_000
    assert 10_000 < found.cpu.request_ns < 60_000
    assert 1_000 < found.cpu.page_ns < 20_000
    assert cluster_cost(recording, calls[:10], 0) is None
    assert cluster_cost(recording, calls, first_sector=1 << 30) is None


def test_an_image_of_the_same_files_with_other_contents_is_refused(recording, tmp_path):
    root = tree_of(recording, tmp_path / "root")
    built("mkfs.erofs", "--quiet", "-zlz4hc", tmp_path / "image", root)
    with pytest.raises(LayoutError, match="another build of the image: only"):
        predict_on_image(recording, tmp_path / "image", device_model=DISK)


@pytest.mark.parametrize(
    ("octets", "error", "words"),
    [
        (b"", ImageError, "empty"),
        (b"\0" * 5000, ImageError, "not an image of squashfs, EROFS or ext4"),
        (b"hsqs" + b"\0" * 5000, LayoutError, "not an image of EROFS"),
        (b"\0" * 1024 + b"\xe2\xe1\xf5\xe0" + b"\0" * 5000, ImageError, "damaged"),
    ],
)
def test_a_file_that_is_no_image_of_erofs_is_refused(octets, error, words, recording, tmp_path):
    (tmp_path / "image").write_bytes(octets)
    with pytest.raises(error, match=words) as raised:
        predict_on_image(recording, tmp_path / "image")
    assert raised.value.remedy


def test_one_capture_and_its_own_kernel_are_predicted_on_an_image(recording, image):
    asked = Question(image=image)
    with pytest.raises(ChoiceError, match="one capture"):
        asked.predicted(recording, None, [recording])
    with pytest.raises(ChoiceError, match="kernel of the capture"):
        replace(asked, model="linux-6.1").predicted(recording)


def test_the_criterion_can_be_the_published_one(recording, image):
    asked = Question(image=image, device_model=str(DISK), criterion="published")
    assert asked.predicted(recording, [4, 32]).verdict.by == "criterion"


@pytest.mark.thorough
def test_predict_takes_the_image_also_beside_a_sweep(image, capsys):
    words = ["--image", str(image), "--device-model", str(DISK), "--json"]
    assert main(["predict", str(CAPTURE), *words, "--windows", "16,128"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["by"] == "seconds"
    assert found["total"]["windows"] == [0, 4, 32]
    assert main(["predict", str(CAPTURE), "--measured", str(SWEEP), *words]) == 0
    points = {
        one["read_ahead_kb"]: (one["predicted"]["seconds"], one["measured"]["seconds"])
        for one in json.loads(capsys.readouterr().out)["points"]
    }
    assert points.keys() == MEASURED.keys()
    for kb, (predicted, measured) in points.items():
        assert measured == MEASURED[kb]
        assert predicted == pytest.approx(measured, rel=0.03)


def test_without_the_image_the_command_with_it_is_named(capsys):
    assert main(["predict", str(CAPTURE)]) == 0
    shown = capsys.readouterr().out
    assert f"foreread predict {CAPTURE} --image IMAGE predicts it" in shown


def test_clusters_of_more_than_a_block_widen_the_band(image):
    tables = read_erofs(image.read_bytes())
    assert [*large_clusters(tables)] == []
    tables.pieces["stored"][0] = 65536
    tables.pieces["packed"][0] = 1
    assert [one.spread > 0 for one in large_clusters(tables)] == [True]


def test_a_page_that_a_cluster_brought_and_nothing_touches_is_not_read_singly(recording, image):
    start = on_erofs(recording, read_erofs(image.read_bytes()))
    program = start.inputs.program
    read = np.flatnonzero(program.operations["op"] == Op.READ)
    file = program.file_of_operations()[read]
    packed = start.image.files["layout"][start.file[file]] > 0
    one = int(read[np.flatnonzero((start.file[file] >= 0) & packed)[0]])
    row = int(program.file_of_operations()[one])
    added = np.array([(Op.SINGLE, row, 0, 0, 1)], program.operations.dtype)
    longer = replace(program, operations=np.concatenate([program.operations, added]))
    assert start.without_filled(longer).operations[-1].tolist() == (Op.PRESENT, row, 0, 0, 0)


def test_a_time_to_unpack_that_is_unknown_has_to_be_measured(recording, image, monkeypatch):
    monkeypatch.setattr(by_window, "cluster_cost", lambda *given: None)
    unknown = predict_on_image(recording, image, [32], DISK)
    assert unknown.verdict.action == "measure"
    assert "too few clusters" in unknown.verdict.why
    assert unknown.verdict.remedy.startswith("foreread layout CAPTURE --image IMAGE --target T")
    given = predict_on_image(recording, image, [32], DISK, unpacking={"lz4": Unpacking(10_000.0)})
    assert given.verdict.by == "seconds"


def test_the_replay_of_the_recorded_window_reads_what_was_recorded(prediction):
    assert not any("the replay" in doubt for doubt in prediction.doubts)


def test_clusters_that_were_not_recorded_are_a_doubt(recording, image):
    requests = recording.requests
    dropped = np.arange(requests.rows) % 10 == 5
    cut = replace(recording, requests=requests.take(~dropped))
    (doubt,) = (
        one for one in predict_on_image(cut, image, [32], DISK).doubts if "of the image" in one
    )
    unread = int(re.search(r"(\d+) of them were not recorded", doubt)[1])
    assert 0 < unread <= np.count_nonzero(dropped)
