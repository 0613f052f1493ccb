"""The tables of a TUNING file. Each table checks its own content.

Ranges are CHECKs, so that ``PRAGMA integrity_check`` finds what a damaged or forged file breaks.
"""

from __future__ import annotations

from foreread.analyzer.tuner.evaluation import LARGEST, STATUSES

APPLICATION_ID = 0x666F7265  # "fore", in the file's header
VERSION = 4

_STATUSES = ", ".join(f"'{status}'" for status in STATUSES)
_TEXT = "CHECK (length({0}) BETWEEN {1} AND 1048576)"

SCHEMA = f"""
CREATE TABLE boards (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL {_TEXT.format("name", 1)},
    kernel TEXT NOT NULL {_TEXT.format("kernel", 0)},
    page_bytes INTEGER NOT NULL CHECK (page_bytes BETWEEN 512 AND 1048576),
    disks TEXT NOT NULL {_TEXT.format("disks", 2)},  -- JSON: names
    hardware TEXT NOT NULL {_TEXT.format("hardware", 2)},  -- JSON: machine, model, disks
    UNIQUE (name, kernel, page_bytes, disks, hardware)
) STRICT;
CREATE TABLE scenarios (  -- ids are in the campaign's order
    id INTEGER PRIMARY KEY CHECK (id > 0),
    name TEXT NOT NULL UNIQUE {_TEXT.format("name", 1)}
) STRICT;
CREATE TABLE chromosomes (
    id INTEGER PRIMARY KEY,
    genes TEXT NOT NULL UNIQUE {_TEXT.format("genes", 2)}  -- canonical JSON: allele by gene
) STRICT;
CREATE TABLE campaign (  -- one row
    id INTEGER PRIMARY KEY CHECK (id = 1),
    board INTEGER NOT NULL REFERENCES boards,
    "default" INTEGER NOT NULL REFERENCES chromosomes,
    sampler TEXT NOT NULL {_TEXT.format("sampler", 1)},
    recipe TEXT NOT NULL {_TEXT.format("recipe", 0)},
    space TEXT NOT NULL {_TEXT.format("space", 0)},
    seed INTEGER NOT NULL,
    command TEXT NOT NULL {_TEXT.format("command", 2)},  -- JSON: words
    objective TEXT NOT NULL CHECK (objective IN ('seconds', 'rate')),
    fewest INTEGER NOT NULL CHECK (fewest BETWEEN 1 AND 1000),
    most INTEGER NOT NULL CHECK (most BETWEEN fewest AND 1000),
    foreread TEXT NOT NULL {_TEXT.format("foreread", 0)},
    created REAL NOT NULL CHECK (created BETWEEN 0 AND 1e11),  -- s since 1970
    best INTEGER REFERENCES chromosomes,  -- as the engine believes, if it has a mind of its own
    ended TEXT CHECK (ended IN ('finished', 'nothing new', 'noise', 'evaluations', 'seconds')),
    allowance INTEGER CHECK (allowance >= 0)  -- runs that the confirmation may have, if limited
) STRICT;
CREATE TABLE evaluations (  -- one row an attempt, in the order they were made
    id INTEGER PRIMARY KEY CHECK (id > 0),
    chromosome INTEGER NOT NULL REFERENCES chromosomes,
    scenario INTEGER NOT NULL REFERENCES scenarios,
    board INTEGER NOT NULL REFERENCES boards,
    repeat INTEGER NOT NULL CHECK (repeat >= 0),  -- of this chromosome in this scenario
    seed INTEGER NOT NULL CHECK (seed >= 0),
    status TEXT NOT NULL CHECK (status IN ({_STATUSES})),
    value REAL CHECK (value > 0 AND value <= {LARGEST}),
    metrics TEXT NOT NULL {_TEXT.format("metrics", 2)},  -- JSON: number by name
    notes TEXT NOT NULL {_TEXT.format("notes", 2)},  -- JSON: sentences
    started REAL NOT NULL CHECK (started BETWEEN 0 AND 1e11),  -- s since 1970
    ended REAL NOT NULL CHECK (ended BETWEEN started AND 1e11),
    stage TEXT NOT NULL CHECK (stage IN ('search', 'confirmation')),
    withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1)),
    CHECK (status <> 'ok' OR value IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX repeats ON evaluations (stage, chromosome, scenario, repeat)
    WHERE withdrawn = 0;
CREATE TABLE generations (  -- what the engine was told
    generation INTEGER NOT NULL CHECK (generation >= 0),
    place INTEGER NOT NULL CHECK (place >= 0),
    chromosome INTEGER NOT NULL REFERENCES chromosomes,
    fitness REAL NOT NULL CHECK (fitness BETWEEN 0 AND {LARGEST}),
    PRIMARY KEY (generation, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE fingerprints (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE {_TEXT.format("name", 1)}
) STRICT;
CREATE TABLE top_genes (  -- the best that a workload of this fingerprint was given
    fingerprint INTEGER PRIMARY KEY REFERENCES fingerprints,
    chromosome INTEGER NOT NULL REFERENCES chromosomes,
    fitness REAL NOT NULL CHECK (fitness BETWEEN 0 AND {LARGEST})
) STRICT;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""
