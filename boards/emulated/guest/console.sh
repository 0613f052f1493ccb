#!/bin/sh
# A shell on the serial port that the kernel's console is on.
read -r line </proc/cmdline
port=${line##*console=}
port=${port%% *}
[ "$port" != ttyS1 ] || [ ! -c /dev/ttysclp0 ] || port=ttysclp0 # s390 calls the console otherwise
exec getty -n -l /bin/sh 115200 "$port"
