"""The store of one campaign: every attempt, the results given to the engine, and top genes.

A TUNING file of ``foreread tune`` is such a store. Each attempt is committed before the next one
starts, so that a kill loses at most the evaluation under way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.space.genes import Allele, Chromosome
from foreread.analyzer.tuner.store import store_file, store_rows
from foreread.analyzer.tuner.store.limits import StoredJson, StoreError
from foreread.analyzer.tuner.store.records import (
    Board,
    Ended,
    Evaluation,
    Hardware,
    Spec,
    Stage,
    TopGenes,
)

__all__ = ["Board", "Evaluation", "Spec", "Store", "StoreError", "TopGenes"]

_EVALUATIONS = """
SELECT e.id, genes, s.name, repeat, seed, status, value, metrics, notes, started, ended, board
FROM evaluations e JOIN chromosomes c ON c.id = chromosome JOIN scenarios s ON s.id = scenario
WHERE stage = ? AND withdrawn <= ? ORDER BY e.id
"""


class Store:
    """An open store; a context manager. All methods raise StoreError.

    ``spec`` is the campaign's; ``ended`` is the reason of its end, None while it can go on;
    ``best`` is the chromosome that its engine believes best (evaluation.key_of), None if it relies
    on measurements; ``allowance`` is the maximum number of runs of its confirmation, None without a
    limit.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, lock: int | None) -> None:
        self.name = name
        self._connection = connection
        self._lock = lock
        self._json = StoredJson(name)
        self.spec, self.created, self.best, self.ended = self._read_campaign()
        self.allowance: int | None = self._rows("SELECT allowance FROM campaign")[0][0]

    @classmethod
    def create(cls, path: Path, spec: Spec) -> Self:
        """Make the file ``path``, which must not exist, and return it open for writing."""
        with cls.in_memory(spec) as store:
            store_file.write_new(path, store._connection.serialize())
        return cls.resume(path)

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Return the store ``path`` open for writing, and locked against other writers."""
        connection, lock = store_file.open_to_write(path)
        return cls._opened(connection, str(path), lock)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return a copy of the present store ``path``; also while a campaign writes to it."""
        return cls._opened(store_file.open_to_read(path), str(path), None)

    @classmethod
    def in_memory(cls, spec: Spec) -> Self:
        """Return a store that ends with the process."""
        connection = store_file.new_memory()
        with store_file.refused("the store", "made"):
            store_rows.insert_campaign(connection, spec)
        return cls(connection, "the store", None)

    @classmethod
    def _opened(cls, connection: sqlite3.Connection, name: str, lock: int | None) -> Self:
        try:
            return cls(connection, name, lock)
        except BaseException:
            store_file.close(connection, lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; it cannot be used afterwards."""
        store_file.close(self._connection, self._lock)

    def evaluations(self, withdrawn: bool = False, stage: Stage = "search") -> list[Evaluation]:
        """Return a stage's attempts in the order of their making; ``withdrawn``: also those."""
        return [self._evaluation(row) for row in self._rows(_EVALUATIONS, (stage, int(withdrawn)))]

    def withdrawn(self, stage: Stage = "search") -> list[Evaluation]:
        """Return a stage's attempts that do not count."""
        counted = {evaluation.number for evaluation in self.evaluations(stage=stage)}
        every = self.evaluations(withdrawn=True, stage=stage)
        return [evaluation for evaluation in every if evaluation.number not in counted]

    def add(self, evaluation: Evaluation, stage: Stage = "search", withdrawn: bool = False) -> None:
        """Store an attempt; it is on the disk when this returns.

        ``withdrawn``: the attempt does not count, since the board was lost in it.
        """
        board = self._boards[evaluation.board]
        with self._transaction():
            store_rows.insert_evaluation(self._connection, evaluation, stage, board, withdrawn)

    def withdraw_after(self, number: int) -> None:
        """Withdraw the search's attempts after ``number``: they stay, and do not count."""
        with self._transaction():
            self._connection.execute(
                "UPDATE evaluations SET withdrawn = 1 WHERE stage = 'search' AND id > ?", (number,)
            )

    def last_number(self) -> int:
        """Return the number of the last attempt, withdrawn or not; 0 if there is none."""
        return int(self._rows("SELECT coalesce(max(id), 0) FROM evaluations")[0][0])

    def good_attempts(self) -> int:
        """Return the number of attempts that were good and are not withdrawn."""
        query = "SELECT count(*) FROM evaluations WHERE status = 'ok' AND withdrawn = 0"
        return int(self._rows(query)[0][0])

    def generations(self) -> list[list[tuple[Chromosome, float]]]:
        """Return the results given to the engine: the chromosomes of each generation and their
        fitness.
        """
        batches: dict[int, list[tuple[Chromosome, float]]] = {}
        query = (
            "SELECT generation, genes, fitness FROM generations JOIN chromosomes c"
            " ON c.id = chromosome ORDER BY generation, place"
        )
        for generation, genes, fitness in self._rows(query):
            batches.setdefault(generation, []).append((self._chromosome(genes), fitness))
        return list(batches.values())

    def add_generation(
        self,
        generation: int,
        scored: Sequence[Scored],
        top: Mapping[str, TopGenes] | None = None,
        best: str | None = None,
    ) -> None:
        """Store the results given to the engine for its ``generation``-th batch, from 0.

        ``top``: its present top genes, by fingerprint; ``best``: the chromosome that it now
        believes best.
        """
        with self._transaction():
            store_rows.insert_generation(self._connection, generation, scored)
            for fingerprint, genes in (top or {}).items():
                store_rows.put_top_genes(self._connection, fingerprint, genes)
            if best:
                store_rows.put_best(self._connection, best)
        self.best = best

    def end(self, why: Ended | None) -> None:
        """Store why the campaign ended; None when it goes on."""
        with self._transaction():
            self._connection.execute("UPDATE campaign SET ended = ?", (why,))
        self.ended = why

    def allow(self, runs: int | None) -> None:
        """Store how many runs the confirmation may have; None without a limit."""
        with self._transaction():
            self._connection.execute("UPDATE campaign SET allowance = ?", (runs,))
        self.allowance = runs

    def check_board(self, board: Board) -> None:
        """Raise StoreError unless ``board`` is the campaign's: boards' runs are incomparable."""
        self.check_boards([board])

    def check_boards(self, boards: Sequence[Board | None]) -> None:
        """Raise StoreError unless these are the campaign's boards; None is one that is lost."""
        for was_board, board in zip_longest(self.spec.boards, boards):
            if board is None and len(boards) == len(self.spec.boards):
                continue
            if board == was_board:
                continue
            was, now = (_described(each) if each else "no board" for each in (was_board, board))
            message = f"{self.name} was measured on {was}, and this is {now}"
            raise StoreError(
                message, "resume it there, or start a new campaign here with another -o TUNING"
            )

    def top_genes(self) -> dict[str, TopGenes]:
        """Return the top genes of every fingerprint that has some."""
        query = (
            "SELECT f.name, genes, fitness FROM top_genes JOIN fingerprints f ON f.id = fingerprint"
            " JOIN chromosomes c ON c.id = chromosome ORDER BY f.id"
        )
        rows = self._rows(query)
        return {name: TopGenes(self._chromosome(genes), fitness) for name, genes, fitness in rows}

    def put_top_genes(self, fingerprint: str, top: TopGenes) -> None:
        """Replace the top genes of a fingerprint."""
        with self._transaction():
            store_rows.put_top_genes(self._connection, fingerprint, top)

    def _read_campaign(self) -> tuple[Spec, float, str | None, Ended | None]:
        rows = self._rows(
            "SELECT c.genes, sampler, recipe, space,"
            " seed, command, objective, fewest, most, foreread, created, believed.genes, ended"
            " FROM campaign"
            ' JOIN chromosomes c ON c.id = "default"'
            " LEFT JOIN chromosomes believed ON believed.id = best"
        )
        if not rows:
            raise StoreError(f"{self.name} contains no campaign", "give a file of foreread tune")
        genes, sampler, recipe, *rest = rows[0]
        space, seed, command, objective, fewest, most, foreread, created, best, ended = rest
        scenarios = self._rows("SELECT name FROM scenarios ORDER BY id")
        if not scenarios:
            raise StoreError(f"{self.name} has no scenario", "give a file of foreread tune")
        board, *other_boards = self._read_boards()
        spec = Spec(
            board=board,
            scenarios=tuple(scenario for (scenario,) in scenarios),
            default=self._chromosome(genes),
            sampler=sampler,
            recipe=recipe,
            space=space,
            seed=seed,
            command=self._json.read(command, tuple[str, ...]),
            objective=objective,
            fewest=fewest,
            most=most,
            foreread=foreread,
            others=tuple(other_boards),
        )
        return spec, created, best and key_of(self._chromosome(best)), ended

    def _read_boards(self) -> list[Board]:
        """Return the boards, the campaign's first, and store their ids."""
        rows = self._rows(
            "SELECT id, name, kernel, page_bytes, disks, hardware FROM boards"
            " ORDER BY id <> (SELECT board FROM campaign), id"
        )
        self._boards = [identity for identity, *_ in rows]
        return [
            Board(name, kernel, page_bytes, *self._disks(disks, hardware))
            for _, name, kernel, page_bytes, disks, hardware in rows
        ]

    def _evaluation(self, row: tuple[Any, ...]) -> Evaluation:
        number, genes, scenario, repeat, seed, status, value, metrics, *rest = row
        notes, started, ended, board = rest
        try:
            figures = self._json.read(metrics, dict[str, float])
            attempt = Attempt(status, value, figures, self._json.read(notes, tuple[str, ...]))
        except StoreError:
            raise
        except ValueError as error:
            raise StoreError(f"{self.name} is damaged: {error}", "start a new campaign") from error
        chromosome, place = self._chromosome(genes), self._boards.index(board)
        return Evaluation(
            number, chromosome, scenario, repeat, seed, attempt, started, ended, place
        )

    def _chromosome(self, genes: str) -> Chromosome:
        return self._json.shared(genes, dict[str, Allele])

    def _disks(self, disks: str, hardware: str) -> tuple[tuple[str, ...], Hardware]:
        return self._json.read(disks, tuple[str, ...]), self._json.read(hardware, Hardware)

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with store_file.refused(self.name, "read"):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with store_file.refused(self.name, "written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it
                    self._connection.execute("ROLLBACK")
                raise


def _described(board: Board) -> str:
    properties = (board.kernel, board.hardware.model or board.hardware.machine, *board.disks)
    return f"{board.name} ({', '.join(filter(None, properties))})"
