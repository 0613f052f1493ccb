"""Boards of a fleet whose replies come in an order that no machine's load changes.

The processes of the boards make their runs when they like. What they reply is handed on as if each
run took as long as its board's target says (``takes``, else 1 second), and nothing else any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from fleet_benches import words_of
from waiting import wait_until

from foreread.benches.boards import BoardsAtWork


@dataclass
class _Turns:
    """When the runs that boards make now will end, and the replies that came before their turn."""

    now_s: float = 0.0
    ends_s: dict[int, float] = field(default_factory=dict)
    early: dict[int, list] = field(default_factory=dict)


def take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the boards of all fleets reply in turn."""
    begin, reply = BoardsAtWork.begin, BoardsAtWork.reply

    def turns_of(boards):
        return boards.__dict__.setdefault("turns", _Turns())

    def lasts_s(boards, board):
        return float(words_of(boards.names[board]).get("takes", 1))

    def begin_in_turn(boards, board, due):
        turns = turns_of(boards)
        turns.ends_s[board] = turns.now_s + lasts_s(boards, board)
        begin(boards, board, due)

    def reply_in_turn(boards):
        turns = turns_of(boards)
        first = min(turns.ends_s.keys() & boards.alive, key=lambda one: (turns.ends_s[one], one))

        def has_come():
            if not turns.early.get(first):
                came = reply(boards)
                if came.board not in turns.ends_s:  # it makes no run: it is out
                    return [came]
                boards.idle.discard(came.board)
                turns.early.setdefault(came.board, []).append(came)
            return turns.early.get(first)

        found = wait_until(has_come).pop(0)
        if found.board != first:
            return found
        turns.now_s = turns.ends_s.pop(first)
        if found.lost:  # it will say whether it comes back
            turns.ends_s[first] = turns.now_s + lasts_s(boards, first)
        elif not found.out:
            boards.idle.add(first)
        return found

    monkeypatch.setattr(BoardsAtWork, "begin", begin_in_turn)
    monkeypatch.setattr(BoardsAtWork, "reply", reply_in_turn)
