"""Ctrl-C works in what the tests start, also where CI or nohup had it ignored: it is inherited."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
