#!/bin/sh
# The ssh server; its host key is this board's own, given to it at start. Keys only.
[ "$1" = start ] || exit 0
key=/run/board/host_key
dropbearconvert openssh dropbear /run/board/host_key.openssh "$key" 2>/dev/null
[ -s "$key" ] || echo "board: failed: dropbearconvert made no host key" >/dev/console
dropbear -s -j -k -r "$key" && echo "board: ssh" >/dev/console
