"""Writes the rows of a store, within the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.evaluation import chromosome_of, key_of
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Board, Evaluation, Spec, Stage, TopGenes


def insert_campaign(connection: sqlite3.Connection, spec: Spec) -> None:
    """Write the campaign."""
    boards = [_insert_board(connection, board) for board in spec.boards]
    for number, scenario in enumerate(spec.scenarios, 1):
        connection.execute("INSERT INTO scenarios VALUES (?, ?)", (number, scenario))
    connection.execute(
        "INSERT INTO campaign VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
        (
            *(boards[0], _chromosome_id(connection, spec.default), spec.sampler),
            *(spec.recipe, spec.space, spec.seed, _json(spec.command), spec.objective),
            *(spec.fewest, spec.most, spec.foreread, time.time()),
        ),
    )


def _insert_board(connection: sqlite3.Connection, board: Board) -> int | None:
    return connection.execute(
        "INSERT INTO boards (name, kernel, page_bytes, disks, hardware) VALUES (?, ?, ?, ?, ?)",
        (
            *(board.name, board.kernel, board.page_bytes),
            *(_json(board.disks), _json(asdict(board.hardware))),
        ),
    ).lastrowid


def insert_evaluation(
    connection: sqlite3.Connection,
    evaluation: Evaluation,
    stage: Stage,
    board: int,
    withdrawn: bool,
) -> None:
    """Write an attempt on the board with that id."""
    attempt = evaluation.attempt
    connection.execute(
        "INSERT INTO evaluations VALUES (?, ?,"
        " (SELECT id FROM scenarios WHERE name = ?), ?,"
        " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(
                evaluation.number,
                _chromosome_id(connection, evaluation.chromosome),
                evaluation.scenario,
                board,
            ),
            *(evaluation.repeat, evaluation.seed, attempt.status, attempt.value),
            *(_printed(dict(attempt.metrics)), _printed(attempt.notes)),
            *(evaluation.started, evaluation.ended, stage, int(withdrawn)),
        ),
    )


def insert_generation(
    connection: sqlite3.Connection, generation: int, scored: Sequence[Scored]
) -> None:
    """Write the results given to the engine for a generation."""
    for place, score in enumerate(scored):
        chromosome = _chromosome_id(connection, score.chromosome)
        connection.execute(
            "INSERT INTO generations VALUES (?, ?, ?, ?)",
            (generation, place, chromosome, score.fitness),
        )


def put_best(connection: sqlite3.Connection, best: str) -> None:
    """Write the chromosome that is believed best, by its key."""
    believed = _chromosome_id(connection, chromosome_of(best))
    connection.execute("UPDATE campaign SET best = ?", (believed,))


def put_top_genes(connection: sqlite3.Connection, fingerprint: str, top: TopGenes) -> None:
    """Replace the top genes of a fingerprint."""
    connection.execute(
        "INSERT INTO fingerprints (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (fingerprint,)
    )
    connection.execute(
        "INSERT OR REPLACE INTO top_genes"
        " VALUES ((SELECT id FROM fingerprints WHERE name = ?), ?, ?)",
        (fingerprint, _chromosome_id(connection, top.chromosome), top.fitness),
    )


def _chromosome_id(connection: sqlite3.Connection, chromosome: Chromosome) -> int:
    genes = key_of(chromosome)
    connection.execute(
        "INSERT INTO chromosomes (genes) VALUES (?) ON CONFLICT (genes) DO NOTHING", (genes,)
    )
    row = connection.execute("SELECT id FROM chromosomes WHERE genes = ?", (genes,)).fetchone()
    return int(row[0])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _printed(value: object) -> str:
    """Return a target's text as JSON; it may contain bytes that are not text."""
    return _json(value).encode(errors="replace").decode()
