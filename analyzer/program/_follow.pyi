"""The C core that follows threads. Arrays are checked at the border: TypeError for dtype or
dimensions; ValueError(message, remedy) for what is out of range."""

from foreread.analyzer.ingest.tables import Array

def follow(
    moments: Array,
    inserted: Array,
    segments: Array,
    cached: Array,
    sizes: Array,
    flags: Array,
    page_size: int,
    shown: int,
    /,
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes]: ...
def error_texts() -> list[tuple[str, str]]: ...
