#!/bin/sh
# Build each libFuzzer target under ASan and UBSan and run it: fuzz/run.sh SECONDS [TARGET...]
# Corpora and findings go to fuzz-out/TARGET; seeds come from the tests' golden files. Without
# TARGET: all of them, and the Python targets.
set -eu
seconds=$1
shift
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
clang=${CLANG:-$(command -v clang-14 || echo clang)}
out=${FUZZ_OUT:-fuzz-out}
flags=${FUZZ_FLAGS:--fsanitize=address,undefined -fno-sanitize-recover=undefined}
libraries='libtraceevent zlib libzstd'
# shellcheck disable=SC2046,SC2086 # options are words
build() {
    case $1 in
    fixed_window) core='-Iemulator emulator/core/fixed/*.c -lm' ;;
    linux) core='-Iemulator -DLX_MOST_BYTES=67108864 emulator/core/linux/*.c -lm' ;;
    follow) core='-Ianalyzer/program/core -DFW_MOST_HELD=4096 -DFW_MOST_WORDS=65536 analyzer/program/core/*.c' ;;
    prefetch) core='' ;; # the target takes in the one file
    *) core="-Ianalyzer/ingest/core analyzer/ingest/core/*.c $(pkg-config --cflags --libs $libraries)" ;;
    esac
    # the fuzzer comes first: libraries follow what uses them
    $clang -std=c11 -g -O1 -fsanitize=fuzzer $flags "fuzz/fuzz_$1.c" $core -o "$out/$1/fuzz"
}

# Python targets, over an extension under ASan and UBSan.
python_targets() {
    mkdir -p fuzz-out/python
    include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    # shellcheck disable=SC2046,SC2086 # options are words
    gcc -shared -fPIC -std=c11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
        -DPy_LIMITED_API=0x030b0000 "-I$include" -Ianalyzer/ingest/core \
        analyzer/ingest/*.c analyzer/ingest/core/*.c \
        $(pkg-config --cflags --libs $libraries) -o fuzz-out/python/_readers.so
    for script in fuzz/fuzz_*.py; do
        echo "== $script, $seconds s"
        # Python itself forgets memory when it ends
        ASAN_OPTIONS=detect_leaks=0 \
            LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
            "$python" fuzz/sanitized.py fuzz-out/python/_readers.so "$script" "$seconds"
    done
}

if test $# -eq 0; then
    python_targets
    set -- fuzz/fuzz_*.c
fi
for target; do
    target=$(basename "${target#fuzz/fuzz_}" .c)
    mkdir -p "$out/$target/corpus"
    build "$target"
    PYTHONPATH=. "$python" fuzz/seeds.py "$target" "$out/$target/corpus"
    [ ! -d "fuzz/findings/$target" ] || cp "fuzz/findings/$target/"* "$out/$target/corpus"
    echo "== $target, $seconds s"
    ( cd "$out/$target" &&
        UBSAN_OPTIONS=print_stacktrace=1 ./fuzz -max_total_time="$seconds" -max_len=65536 \
            -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 corpus 2>log ) ||
        { tail -n 40 "$out/$target/log"; exit 1; }
    grep -E 'number_of_executed_units|DONE' "$out/$target/log"
done
