"""The document of ``foreread doctor --judge --json``."""

from __future__ import annotations

from typing import Annotated

from foreread.boards.base.document import Document, says
from foreread.boards.judged import JudgedKernel
from foreread.judging.judge import Judgement


class JudgeDocument(Document, frozen=True, kw_only=True):
    """A kernel's readahead beside the emulation."""

    kernel: JudgedKernel
    disk: Annotated[str, says("disk under test, as in /sys/block")]
    mountpoint: Annotated[str, says("where its file system is mounted")]
    folios: Annotated[int, says("folios that were compared: pages, or groups of pages")]
    requests: Annotated[int, says("requests that were compared")]
    merged: Annotated[int, says("requests that the disk's queue joined with another")]
    requests_uncompared: Annotated[
        int, says("runs whose requests may have more segments than the disk takes")
    ]
    repeated: Annotated[int, says("runs that agreed only with longer pauses: a slow disk")]
    seconds: Annotated[float, says("duration of the judgement, s")]
    unjudged: Annotated[list[str], says("what the judgement says nothing of")]
    stored: Annotated[str, says("list of judged kernels, which predictions read")]


def judge_document(of: Judgement) -> JudgeDocument:
    """Return the document of a judgement."""
    return JudgeDocument(
        kernel=of.kernel,
        disk=of.disk,
        mountpoint=of.mountpoint,
        folios=of.folios,
        requests=of.requests,
        merged=of.merged,
        requests_uncompared=of.uncompared,
        repeated=of.repeated,
        seconds=round(of.seconds, 1),
        unjudged=list(of.unjudged),
        stored=str(of.stored),
    )
