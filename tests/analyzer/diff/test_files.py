"""The reason why a file is read otherwise, from accesses by hand under the fixed window."""

import pytest
from capture_builder import PAGE, recording_of

from foreread.analyzer.diff.compare import compare
from foreread.analyzer.diff.files import sizes_text


def recording(files):
    """A recording of {path: (pages accessed, size in pages)}, file after file."""
    rows = list(files.items())
    accesses = [(row, page) for row, (_, (pages, _)) in enumerate(rows) for page in pages]
    sizes = [size * PAGE for _, (_, size) in rows]
    return recording_of(accesses, sizes, paths=tuple(path for path, _ in rows))


def between(old, new):
    found = compare(recording(old), recording(new), "app")
    return {file.path: file for file in found.files}, found


SAME = {"/bin/app": (range(10), 10)}


def test_the_same_build_has_no_difference():
    files, found = between(SAME, SAME)
    assert files == {}
    assert [(cause.kind, cause.requests, cause.pages) for cause in found.causes] == [
        ("files", 0, 0)
    ]


def test_a_new_library_and_one_that_is_gone():
    files, found = between(
        {**SAME, "/lib/old.so.1": (range(3), 9)}, {**SAME, "/lib/fresh.so.2": (range(5), 9)}
    )
    assert files["/lib/fresh.so.2"].reasons == ["new"]
    assert files["/lib/fresh.so.2"].why == "a new library, 5 pages accessed, 5 requests"
    assert files["/lib/old.so.1"].reasons == ["gone"]
    assert (found.causes[0].requests, found.causes[0].pages) == (2, 2)


def test_another_version_of_a_library_is_the_same_file():
    files, _ = between({"/lib/z.so.1": (range(3), 9)}, {"/lib/z.so.2": (range(6), 12)})
    (file,) = files.values()
    assert (file.path, file.was) == ("/lib/z.so.2", "/lib/z.so.1")
    assert file.reasons == ["grown", "renamed"]
    assert file.why.startswith("grown from 36 to 48 KiB: 6 pages accessed, before 3")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (36864, 49152, "from 36 to 48 KiB"),
        (134000, 134100, "from 134,000 to 134,100 bytes"),
        (1024, 1025, "from 1 to 2 KiB"),
    ],
)
def test_sizes_that_look_equal_in_kib_are_bytes(before, after, said):
    assert sizes_text(before, after) == said


def test_a_library_in_another_folder_is_the_same_file():
    files, _ = between({"/lib/z.so.1": (range(3), 9)}, {"/usr/lib/z.so.1": (range(6), 12)})
    (file,) = files.values()
    assert (file.path, file.was) == ("/usr/lib/z.so.1", "/lib/z.so.1")
    assert file.why.endswith("another folder")


def test_more_pages_of_a_file_that_did_not_grow():
    files, _ = between(SAME, {"/bin/app": (range(4), 10)})
    assert files["/bin/app"].reasons == ["fewer pages"]


def test_pages_that_moved():
    files, _ = between(
        {"/bin/app": (range(10), 40)}, {"/bin/app": ([*range(5), *range(20, 25)], 40)}
    )
    assert files["/bin/app"].reasons == ["moved"]
    assert files["/bin/app"].why == "5 accessed pages of 10 at other places in the file"


def test_a_file_that_is_not_accessed_is_no_difference():
    files, _ = between({**SAME, "/x": ((), 5)}, SAME)
    assert files == {}


def test_files_without_a_path_are_named_by_their_inode():
    one = recording(SAME)
    two = recording_of([(0, 0)], [PAGE], paths=(None,))
    found = compare(one, two, "app")
    assert {file.path for file in found.files} == {"/bin/app", "(inode 0)"}
