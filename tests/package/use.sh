#!/bin/sh
# In a bare root: install a package, and do the main job with it.
#
# Usage: use.sh FILE     a .whl or a .deb, in the current folder; results go to out/
set -eux

file=$1
mkdir -p out
for compiler in cc gcc clang c99; do
    if command -v "$compiler"; then
        echo "use.sh: a compiler is installed: the test would show nothing" >&2
        exit 1
    fi
done

case $file in
*.whl)
    python3 -m venv /opt/foreread
    /opt/foreread/bin/pip install -q --only-binary :all: "./$file"
    PATH=/opt/foreread/bin:$PATH
    ;;
*.deb)
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "./$file" >/dev/null
    ;;
esac

# Away from here, so that only what is installed is found.
shared=$PWD
cd /root
python3 "$shared/look.py" >"$shared/out/look.json"
share=$(dirname "$(dirname "$(command -v foreread)")")/share
find "$share/man/man1" -name 'foreread*' >"$shared/out/manual"
find "$share/foreread/schemas" -name '*.json' >"$shared/out/schemas"
foreread --version >"$shared/out/version"
status=0
foreread doctor --json >"$shared/out/doctor.json" || status=$?
[ "$status" -le 1 ] # 1: something cannot be recorded here, and the document says what

capture=$shared/python-start.capture.tar.xz
foreread predict --json "$capture" >"$shared/out/predict.json"
foreread show --json "$capture" >"$shared/out/show.json"
foreread report "$capture" "$shared/python-start.sweep.json" -o report
foreread script "$capture" --read-ahead-kb 64 -o boot
sh -n boot/foreread-apply
foreread record -o own.capture -- python3 -c 'import json, decimal'
foreread predict --json own.capture >"$shared/out/own.json"
foreread --print-completion bash >"$shared/out/completion"
cp -R report boot "$shared/out"
