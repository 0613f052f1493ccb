"""What ``foreread tune`` prints of settings that trade one aim for another."""

from __future__ import annotations

from foreread.analyzer.tuner.campaign.weights import weights_text
from foreread.analyzer.tuner.findings.constraints import number
from foreread.analyzer.tuner.findings.pareto import disagree
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.findings.trades import Aim, Trades, genes_text, trades
from foreread.cli.text.table import render

_MOST_ROWS = 5
_UNITS = {"wear": "sectors", "memory": "s waiting"}


def trades_text(results: Results) -> list[str]:
    """Return the front of all aims as a table; nothing where no aim costs another one."""
    traded = trades(results)
    if not (traded.front and (traded.paid or disagree(results.runs))):
        return []
    weights = weights_text(results.standings.weights)
    weighting = f"with the weights {weights}" if weights else "all scenarios count alike"
    shown = traded.front[:_MOST_ROWS]
    cells = [_cells(results, traded, row) for row in range(len(shown))]
    # An aim that is the same in all rows chooses none of them.
    differing = [i for i in range(len(traded.aims)) if len({row[i] for row in cells}) > 1]
    heads = [*(_head(traded.aims[i]) for i in differing), "genes"]
    rows = [
        [*(row[i] for i in differing), genes_text(results.space, point.chromosome)]
        for row, point in zip(cells, shown, strict=True)
    ]
    left = len(traded.front) - len(rows)
    more = f"\n{left} more: foreread report" if left else ""
    return [
        f"no settings beat these in every column ({weighting}; to choose: "
        "--weigh SCENARIO=WEIGHT):\n" + render(heads, rows) + more
    ]


def _head(aim: Aim) -> str:
    return aim.scenario if aim.counter is None else f"{aim.scenario}: {_UNITS[aim.counter.name]}"


def _cells(results: Results, traded: Trades, row: int) -> list[str]:
    return [
        f"{results.values([value])[0]:.3f}" if aim.counter is None else number(value)
        for aim, value in zip(traded.aims, traded.front[row].values, strict=True)
    ]
