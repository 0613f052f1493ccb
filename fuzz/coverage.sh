#!/bin/sh
# What the libFuzzer targets do not reach: fuzz/coverage.sh SECONDS [TARGET...]
# Run each target for SECONDS and print, by file, its lines and how many no input reached. A target
# whose inputs are refused early finds nothing, and says nothing.
set -eu
seconds=$1
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- fuzz/fuzz_*.c
for target; do
    target=$(basename "${target#fuzz/fuzz_}" .c)
    out=fuzz-out/coverage/$target
    FUZZ_OUT=fuzz-out/coverage FUZZ_FLAGS='-fprofile-instr-generate -fcoverage-mapping' \
        LLVM_PROFILE_FILE="$PWD/$out/raw" sh fuzz/run.sh "$seconds" "$target"
    llvm-profdata merge "$out/raw" -o "$out/profile"
    llvm-cov report "$out/fuzz" -instr-profile "$out/profile" |
        awk '/\// { printf "%6d lines, %5d unreached  %s\n", $8, $9, $1 }' | sort -k3,3rn
done
