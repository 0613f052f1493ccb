#!/bin/sh
# A shell on the serial port that the kernel's console is on.
read -r line </proc/cmdline
port=${line##*console=}
exec getty -n -l /bin/sh 115200 "${port%% *}"
