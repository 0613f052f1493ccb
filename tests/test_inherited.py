"""What a test run has inherited, from nohup for instance, does not reach the programs it starts."""

import json
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
SIGNALS = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE]
# Starts a program with what a careless parent leaves to it.
CARELESS = """
import os, signal, sys
signals = [int(number) for number in sys.argv[1].split(",")]
for number in (*signals, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
os.umask(0o777)
os.close(0)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[2:]])
"""
# Begins as the torture does, and prints how the commands ended that the torture's bench starts.
TORTURE = """
import json, os, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from bench import Bench
from inherited import shed
shed()
made = Bench(Path.cwd(), None, "")
ended = {}
for number in map(int, sys.argv[1].split(",")):
    os.kill(os.getpid(), number) if number == 1 else None
    process = made.start([], ["sh", "-c", f"touch file && umask >&2 && kill -{number} $$"])
    said = process.communicate()[1].decode().strip()
    ended[number] = [process.returncode, said, os.fstat(0).st_rdev]
print(json.dumps(ended))
"""


def test_torture_starts_commands_that_signals_end(tmp_path):
    numbers = ",".join(str(int(number)) for number in SIGNALS)
    paths = [str(TESTS / "torture"), str(TESTS / "support"), str(TESTS.parent)]
    words = [sys.executable, "-c", CARELESS, numbers, TORTURE, numbers, *paths]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    null = Path("/dev/null").stat().st_rdev
    assert json.loads(done.stdout) == {
        str(int(number)): [-number, "0022", null] for number in SIGNALS
    }
