"""Each test can fail, and its verdict depends neither on chance nor on time.

It asserts something. Its loops have an end that can be seen. It waits by tests/support/waiting.py
alone: no sleep stands for something that happens meanwhile, and no wait has seconds of its own.
"""

import ast
import builtins
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PATHS = sorted(TESTS.rglob("*.py"))
SUPPORT = {path.stem: path for path in PATHS if path.parent.name == "support"}
WAITING = SUPPORT["waiting"]
CHECKS = ("raises", "warns", "fail", "validate")  # the last: of JSON Schema

# What a loop may call and still only compute: it looks at nothing that it would have to wait for.
COMPUTES = {
    *(name for name in dir(builtins) if name not in ("input", "open")),
    *("add", "append", "count", "endswith", "extend", "get", "index", "items", "pop", "remove"),
    *("search", "sort", "split", "startswith", "strip", "update", "values"),
    *("from_bytes", "pack", "unpack", "unpack_from"),
    *("choice", "exponential", "randbytes", "randint", "random", "randrange"),
    *("booleans", "draw", "integers", "sampled_from"),  # Hypothesis ends what it draws
    "submit",  # of a modelled disk
}
CLOCKS = {"left_s", "monotonic", "pause_s"}
ENDS = {"_stopped", "is_alive", "poll"}  # of a thread or a process
ENDLESS = {"count", "cycle", "repeat"}  # of itertools
READS = {"read", "recv"}  # give nothing at the end of the data
# Stand-ins that serve in threads until their other end is closed.
SERVERS = {"adbd.py", "console_board.py"}
SLEEPS = {"sleep", "Timer"}
# Of waiting.py, for the work of stand-ins and for kills at any step.
WORK = {"take_time": "support", "random_moment": ""}
JOINS = {"join", "wait"}  # of threads and processes: the only argument is a timeout


@cache
def tree(path):
    return ast.parse(path.read_text())


@cache
def nodes(path):
    """All nodes of a file: most rules look at each."""
    return list(ast.walk(tree(path)))


@cache
def definitions(path):
    """Functions and classes of a file by name."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node for node in nodes(path) if isinstance(node, kinds)}


@cache
def imported(path):
    """What a file takes from tests/support: where each name is defined."""
    found = {}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module in SUPPORT:
            for name in node.names:
                found[name.asname or name.name] = (SUPPORT[node.module], name.name)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name in SUPPORT:
                    there = SUPPORT[name.name]
                    found |= {defined: (there, defined) for defined in definitions(there)}
    return found


def names_in(node):
    """All names and attributes that are used in a piece of code."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


@cache
def names(path):
    """All names and attributes that are used in a file."""
    return {*names_in(tree(path))}


def called(node):
    """The last part of the name of a called function; empty for other code."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", ""))


def calls_in(node):
    return [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]


@cache
def asserts(node):
    """Whether a piece of code asserts something itself."""
    return any(
        isinstance(inner, (ast.Assert, ast.Raise))
        or (isinstance(inner, ast.Call) and {*names_in(inner.func)} & {*CHECKS})
        for inner in ast.walk(node)
    )


def can_fail(path, node, seen=()):
    """Whether a test asserts something, itself or in a helper of its file or tests/support."""
    if asserts(node):
        return True
    here, elsewhere = definitions(path), imported(path)
    for name in names_in(node):
        place, known = (path, name) if name in here else elsewhere.get(name, (path, ""))
        helper = definitions(place).get(known)
        if helper in (None, node) or helper in seen:
            continue
        if can_fail(place, helper, (*seen, node)):
            return True
    return False


def every_test():
    for path in PATHS:
        for name, node in definitions(path).items():
            if name.startswith("test_") and isinstance(node, ast.FunctionDef):
                yield path, node


def only_computes(node, helpers, seen=()):
    """Whether a piece of code calls nothing that could take its time, in its helpers neither."""
    for call in calls_in(node):
        name = called(call)
        helper = helpers.get(name)
        known = name in COMPUTES or name in seen
        if not (known or (helper and only_computes(helper, helpers, (*seen, name)))):
            return False
    return True


def conditions(loop):
    """The conditions that must all hold for a loop to go on."""
    both = isinstance(loop.test, ast.BoolOp) and isinstance(loop.test.op, ast.And)
    return loop.test.values if both else [loop.test]


def grows(loop, name):
    """Whether each round of a loop adds to a number or a list."""
    if any(isinstance(inner, ast.Continue) for inner in ast.walk(loop)):
        return False
    for line in loop.body:
        if isinstance(line, ast.AugAssign) and isinstance(line.value, ast.Constant):
            added = line.target
        elif isinstance(line, ast.Expr) and called(line.value) == "append":
            added = line.value.func.value
        else:
            continue
        if getattr(added, "id", "") == name:
            return True
    return False


def is_end(loop, condition):
    """Whether a condition of a loop is certain to fail at some time."""
    if isinstance(condition, ast.NamedExpr):
        return called(condition.value) in READS
    if isinstance(condition, ast.Compare):
        names = {*names_in(condition.left)} - {"len"}
        return any(grows(loop, name) for name in names)
    return bool({*names_in(condition)} & ENDS)


def is_endless(node, helpers):
    """Whether a loop polls, reads or retries, and no clock, count or process ends it."""
    if isinstance(node, ast.For):
        return called(node.iter) in ENDLESS
    if not isinstance(node, ast.While) or only_computes(node, helpers):
        return False
    seen = {*names_in(node)} & CLOCKS
    return not seen and not any(is_end(node, one) for one in conditions(node))


def is_sleep(node, helpers):
    """Whether code sleeps, or has something done after so many seconds."""
    return called(node) in SLEEPS and called(node) not in helpers


def has_own_seconds(node, _helpers):
    """Whether code waits, and its limit is not that of the running test."""
    limits = [one.value for one in getattr(node, "keywords", []) if one.arg == "timeout"]
    if called(node) in JOINS and not joins_words(node):
        limits += node.args[:1]
    return any(is_number(limit) for limit in limits)


def joins_words(call):
    """Whether a call of that name joins strings."""
    joiner = getattr(call.func, "value", None)
    return isinstance(joiner, ast.Constant) or getattr(joiner, "id", "") == "shlex"


def is_number(node):
    """Whether an expression is a number, or computed of numbers and constants alone."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    is_constant = isinstance(node, ast.Name) and node.id.isupper()
    return is_constant or (isinstance(node, ast.Constant) and isinstance(node.value, int | float))


def found(rule, code):
    """The lines of some code, given as all its nodes, that break a rule."""
    helpers = {one.name: one for one in code if isinstance(one, ast.FunctionDef)}
    ruled = (one for one in code if isinstance(one, (ast.Call, ast.For, ast.While)))
    return [one.lineno for one in ruled if rule(one, helpers)]


def lines_that_break(rule, *, but=()):
    """All lines under tests/ that break a rule; tests/torture is about time and chance."""
    return [
        f"{path.relative_to(TESTS)}:{line}"
        for path in PATHS
        if path != WAITING and path.parent.name != "torture" and path.name not in but
        for line in found(rule, nodes(path))
    ]


@pytest.mark.thorough
def test_each_test_asserts_something():
    tests = list(every_test())
    assert len(tests) > 1500
    silent = [f"{path.name}: {node.name}" for path, node in tests if not can_fail(path, node)]
    assert silent == []


def test_each_loop_has_an_end_that_can_be_seen():
    assert lines_that_break(is_endless, but=SERVERS) == []


def test_nothing_is_awaited_by_a_sleep():
    assert lines_that_break(is_sleep) == []


def test_only_stand_ins_take_time():
    for helper, folder in WORK.items():
        users = {path for path in PATHS if helper in names(path)} - {WAITING}
        assert users, f"nothing uses {helper}: remove it"
        assert [str(path) for path in users if folder and path.parent.name != folder] == []


def test_each_wait_ends_with_the_test_that_runs():
    assert lines_that_break(has_own_seconds) == []


BAD = {
    "polls": (is_endless, "while not path.exists(): time.sleep(1)"),
    "reads on after the end": (is_endless, "while 'x' not in line: line = out.readline()"),
    "retries": (is_endless, "while True:\n  if done(): break"),
    "polls in an event loop": (is_endless, "while not app.rows: await pilot.pause()"),
    "waits by a helper": (is_endless, "def look(): return os.read(1, 1)\nwhile not look(): pass"),
    "counts what may not come": (is_endless, "while n < 4: n += 'x' in next_line()"),
    "leaves out its count": (is_endless, "while n < 4:\n  if f(): continue\n  n += 1"),
    "asks until nothing is left": (is_endless, "while left := losetup(image): pass"),
    "counts for ever": (is_endless, "for n in itertools.count():\n  if done(n): break"),
    "sleeps": (is_sleep, "time.sleep(0.2)"),
    "sleeps by its own name": (is_sleep, "from time import sleep\nsleep(1)"),
    "sleeps in an event loop": (is_sleep, "await asyncio.sleep(1)"),
    "lets a timer sleep": (is_sleep, "threading.Timer(0.3, os.kill, (pid, 9)).start()"),
    "has its own timeout": (has_own_seconds, "subprocess.run(words, timeout=60)"),
    "names its timeout": (has_own_seconds, "process.communicate(timeout=2 * WAIT_S)"),
    "waits for a process": (has_own_seconds, "process.wait(60)"),
    "waits for a thread": (has_own_seconds, "thread.join(WAIT_S)"),
}
GOOD = {
    "waits": (is_endless, "wait_until(path.exists)"),
    "looks at the clock": (is_endless, "while not done() and time.monotonic() < end: pass"),
    "counts": (is_endless, "while not done() and n < 9: n += 1"),
    "counts what it keeps": (is_endless, "while len(runs) < 9:\n  runs.append(run())"),
    "reads to the end": (is_endless, "while data := pipe.read(99): parts.append(data)"),
    "looks at a process": (is_endless, "while thread.is_alive(): look()"),
    "computes": (is_endless, "def f(n): return n // 2\nwhile at < len(data): at += f(data[at])"),
    "has a sleep of its own": (is_sleep, "def sleep(_): pass\nsleep(1)"),
    "joins words": (has_own_seconds, "', '.join(WORDS) + shlex.join(WORDS)"),
    "tests a limit": (has_own_seconds, "target.run(words, timeout_s=0.3)"),
    "joins": (has_own_seconds, "thread.join(left_s())"),
    "waits as the test may": (has_own_seconds, "subprocess.run(words, timeout=left_s())"),
}


def nodes_of(text):
    code = f"async def f():\n  {text.replace(chr(10), chr(10) + '  ')}"
    return list(ast.walk(ast.parse(code)))


@pytest.mark.parametrize("sample", BAD)
def test_what_depends_on_chance_or_time_is_found(sample):
    rule, text = BAD[sample]
    assert len(found(rule, nodes_of(text))) == 1


@pytest.mark.parametrize("sample", GOOD)
def test_what_depends_on_neither_is_left_alone(sample):
    rule, text = GOOD[sample]
    assert found(rule, nodes_of(text)) == []
