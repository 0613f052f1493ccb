"""An S3-like object store on loopback: the server of moto, with a bucket for a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

BUCKET = "fleet"


@contextmanager
def object_store() -> Iterator[str]:
    """Yield the address of an empty bucket; s3fs finds the server by the environment."""
    from moto.server import ThreadedMotoServer  # a second, which other workers need not pay

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    try:
        with mock.patch.dict(os.environ, environment):
            _filesystem().mkdir(BUCKET)
            yield f"s3://{BUCKET}"
    finally:
        server.stop()


def _filesystem():
    import s3fs

    return s3fs.S3FileSystem(use_listings_cache=False)
