"""What ``foreread fingerprint`` prints: periods, and what the watcher does about the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from foreread.analyzer.tuner.engines.fingerprint import Snapshot
from foreread.analyzer.tuner.engines.patterns import Pattern, pattern_of
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, percent_text
from foreread.documents.fingerprint import DoneDocument, PatternDocument, PeriodDocument
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import Period, parse_period, parse_verdict

# The watcher's actions on knobs (watch.sh, knobs.sh), in words.
_VERDICTS = {
    "undone": "  undone: the settings for {} made {} worse: ",
    "kept": "  the settings for {} suit it{}: ",
}
_DONE = {
    "applied": "  applied the settings for {}",
    "defaults": "  there are no settings for {}: the original values are in force",
    "measuring": "  measuring {} with the original values, for comparison",
    "knob": "  {}",
    "moved": "  another program has set: {}",
    "unset": "  refused: {}",
    "note": "  {}",
    "restored": "  restored: {}",
    "noted": "  new: {}, noted to be learnt",
    "learning": "  learning settings for {}",
    "learnt": "  learnt {}",
    "not learnt": "  not learnt: {}",
}


class FactPrinter:
    """Prints facts as text or JSON; ``patterns`` are the learnt ones by the watcher's names."""

    def __init__(self, period_s: int, as_json: bool, patterns: Mapping[str, Pattern]) -> None:
        self._period_s, self._as_json, self._patterns = period_s, as_json, patterns

    def __call__(self, fact: Fact) -> None:
        """Print a period or an action."""
        shown = self._json(fact) if self._as_json else self._text(fact)
        if shown is not None:
            print(shown, flush=True)

    def _json(self, fact: Fact) -> str | None:
        if fact.key == "period":
            return self._document(parse_period(fact)).to_json()
        if fact.key in _VERDICTS:
            return self._done(fact).to_json()
        if fact.key in _DONE:
            return DoneDocument(done=fact.key, what=self._named(fact.value)).to_json()
        return None

    def _text(self, fact: Fact) -> str | None:
        if fact.key == "period":
            return self._line(parse_period(fact))
        if fact.key in _VERDICTS:
            return self._verdict(fact)
        if fact.key in _DONE:
            what = self._named(fact.value).replace("\t", " ").rstrip()
            return printable(_DONE[fact.key].format(what))
        return None

    def _named(self, name: str) -> str:
        """Return a workload's name: of a learnt pattern its parameters."""
        return self._patterns[name].name if name in self._patterns else name

    def _done(self, fact: Fact) -> DoneDocument:
        """Return the document of a comparison with the defaults."""
        verdict = parse_verdict(fact)
        return DoneDocument(
            done=fact.key,
            what=fact.value,
            fingerprint=self._named(verdict.fingerprint),
            worse=verdict.why or None,
            default_bytes_per_ms=verdict.throughput[0],
            plan_bytes_per_ms=verdict.throughput[1],
            default_latency_ms=verdict.latency_ms[0],
            plan_latency_ms=verdict.latency_ms[1],
        )

    def _document(self, period: Period) -> PeriodDocument:
        snapshot = Snapshot(**period.sums)
        # The watcher on the target decides whether a period has a workload.
        published = snapshot.fingerprint(published=True) if period.fingerprint else None
        pattern = _pattern(period)
        learnt = self._patterns.get(period.fingerprint)
        return PeriodDocument(
            fingerprint=period.fingerprint.partition("_")[0] or None,
            pattern_published=published.pattern if published else None,
            seconds=self._period_s,
            reads=snapshot.reads,
            writes=snapshot.writes,
            size_bytes=snapshot.size_bytes,
            distance_sectors=snapshot.distance,
            jump_share=snapshot.jump_share,
            pattern=PatternDocument(**asdict(pattern)) if pattern else None,
            nearest=PatternDocument(**asdict(learnt)) if learnt else None,
        )

    def _verdict(self, fact: Fact) -> str:
        """Return a comparison in words: with the original values, then with the settings."""
        verdict = parse_verdict(fact)
        sentence = _VERDICTS[fact.key].format(self._named(verdict.fingerprint), verdict.why)
        rates = _change(verdict.throughput, ".0f", "bytes per ms of disk time")
        latencies = _change(verdict.latency_ms, ".3g", "ms a request")
        return f"{sentence}throughput {rates}, latency {latencies}"

    def _line(self, period: Period) -> str:
        if not period.fingerprint:
            return "no workload"
        snapshot = Snapshot(**period.sums)
        learnt = self._patterns.get(period.fingerprint)
        jumps = percent_text(snapshot.jump_share, 0)
        return (
            f"{period.fingerprint.partition('_')[0]:<24} {snapshot.reads:g} reads, "
            f"{snapshot.writes:g} writes, {snapshot.size_bytes / KIB:.1f} KiB on average, {jumps} "
            f"jumps ({snapshot.distance:,.0f} sectors from start to start)"
            + _by_process(_pattern(period))
            + (f"; nearest: {learnt.name}" if learnt else "")
        )


def _by_process(pattern: Pattern | None) -> str:
    if pattern is None:
        return ""
    processes = "1 process" if pattern.processes == 1 else f"{pattern.processes} processes"
    return f"; {processes}, {pattern.random_share} % random"


def _pattern(period: Period) -> Pattern | None:
    """Return the pattern of a period with a workload; None where processes were not counted."""
    has_pattern = period.fingerprint and period.own
    return pattern_of({**period.sums, **period.own}) if has_pattern else None


def _change(figures: tuple[float | None, float | None], form: str, unit: str) -> str:
    before, after = figures
    if before is None or after is None:
        return "unknown"
    share = f" ({percent_text(after / before - 1, 0, signed=True)})" if before else ""
    return f"{before:{form}} -> {after:{form}} {unit}{share}"
