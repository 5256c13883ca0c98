#!/bin/sh
# Fuzzes one target for some seconds, starting from its corpus:
#
#   fuzz/run.sh frames_forward [SECONDS]
#
# A crashing input is left in build/fuzz/NAME and printed as the line that belongs
# into fuzz/corpus/NAME.hex.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
name=${1:-}
seconds=${2:-60}
corpus="$root/fuzz/corpus/$name.hex"
if [ -z "$name" ] || [ ! -f "$corpus" ]; then
  echo "usage: fuzz/run.sh TARGET [SECONDS], where TARGET is one of:" >&2
  for file in "$root"/fuzz/corpus/*.hex; do echo "  $(basename "$file" .hex)" >&2; done
  exit 2
fi

cd "$root"
[ -f build/native/build.ninja ] || cmake --preset native
cmake --build build/native --target "fuzz_$name"

work="build/fuzz/$name"
mkdir -p "$work/seeds" "$work/found"
python3 - "$corpus" "$work/seeds" <<'PYTHON'
import pathlib, sys
for number, line in enumerate(open(sys.argv[1])):
    data = bytes.fromhex(line.split("#")[0])
    if data:
        pathlib.Path(sys.argv[2], str(number)).write_bytes(data)
PYTHON

status=0
"build/native/bin/fuzz_$name" "$work/found" "$work/seeds" -max_total_time="$seconds" \
  -max_len=4096 -print_final_stats=1 -artifact_prefix="$work/" || status=$?
for crash in "$work"/crash-* "$work"/timeout-* "$work"/oom-*; do
  [ -f "$crash" ] || continue
  echo "add to fuzz/corpus/$name.hex:"
  python3 -c 'import sys; print(open(sys.argv[1], "rb").read().hex())' "$crash"
done
exit "$status"
