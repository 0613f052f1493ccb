"""A package whose scripts make users and links works on an emulated board: nginx serves a page."""

from __future__ import annotations

import pytest

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions

pytestmark = pytest.mark.boards


def test_nginx_finds_its_user_and_its_site_and_serves_it():
    with EmulatedTarget(LiveOptions("arm64", packages=("nginx-light",))) as target:
        checked = target.run(["nginx", "-t"])
        assert checked.status == 0, checked.stderr
        script = "nginx && wget -q -O - http://127.0.0.1/ && ps -o user,args | grep 'nginx: worker'"
        served = target.run(["sh", "-c", script])
    assert b"Welcome to nginx" in served.stdout, served.stderr
    assert b"www-data nginx: worker" in served.stdout
