"""Addresses and resources of places of a lab, without one."""

import sys

import pytest

from foreread.boards.labgrid.client import PROGRAM, LabgridClient
from foreread.boards.labgrid.place import LabgridAddress, parse_resources
from foreread.boards.open import open_target, transport_of
from foreread.boards.profile import LabgridTransport
from foreread.boards.target import TargetError


def test_a_missing_client_is_named_with_its_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(TargetError, match=f"{PROGRAM} is not installed") as refused:
        LabgridClient("board").acquire()
    assert "foreread[lab]" in refused.value.remedy


RAW = "targets: {p: {resources: [{NetworkSerialPort: {host: '::1', port: 7, protocol: raw}}]}}"


def test_resources_of_an_environment_file():
    found = parse_resources(RAW, "p")
    assert (found.ssh, str(found.console), found.power) == (None, "serial://[::1]:7", False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "targets: 3",
        "targets: {p: {resources: 3}}",
        "targets: {p: {resources: [3]}}",
        "targets: {p: {resources: [{NetworkService: {address: a}}]}}",
        "targets: {p: {resources: [{NetworkService: {address: '-oProxyCommand', username: u}}]}}",
        "targets: {p: {resources: [{NetworkSerialPort: {host: h, port: none}}]}}",
        "!!python/object/apply:os.system [id]",
        "[" * 5000,
        "a: &a [*a, *b]",
    ],
)
def test_an_environment_file_that_is_none_is_refused(text):
    with pytest.raises(TargetError) as refused:
        parse_resources(text, "p")
    assert refused.value.remedy


@pytest.mark.parametrize(
    "url",
    ["labgrid://", "labgrid://-p", "labgrid://a b", "labgrid://a?wait=9999999", "labgrid://a/b"],
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(TargetError, match="is not a place of a lab") as refused:
        open_target(url)
    assert "labgrid-client places" in refused.value.remedy


def test_addresses_and_the_transport_of_a_profile():
    assert str(LabgridAddress.parse("labgrid://+?wait=60")) == "labgrid://+?wait=60"
    assert transport_of("labgrid://board-1") == LabgridTransport(url="labgrid://board-1")
