#!/usr/bin/env bash
# What `make demo` shows: quasi.wasm inside an unmodified Wasmtime downloads 256 MiB from
# `quasi serve`, over QUIC on loopback, trusting exactly one certificate; the SHA-256 of
# what arrived is compared with that of what was served. Needs what `make build` builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mebibytes=256
native=build/native/bin/quasi
wasm=build/wasm-relaxed/bin/quasi-wasm
server=

fail() {
  echo "demo: $*" >&2
  exit 1
}

for program in "$native" "$wasm"; do
  [[ -x $program ]] || fail "$program is not built: run 'make build', then try again."
done

work=$(mktemp -d "${TMPDIR:-/tmp}/quasi-demo.XXXXXX") || fail "no temporary folder can be made; set TMPDIR."
clean_up() {
  if [[ -n $server ]]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

free=$(df --output=avail -m "$work" | tail -n 1)
((free > 3 * mebibytes)) || fail "$work has only $free MiB free; set TMPDIR to a place with $((3 * mebibytes))."
mkdir "$work/www" "$work/in"
echo "demo: making $mebibytes MiB of random data"
head -c $((mebibytes << 20)) /dev/urandom >"$work/www/data.bin"
served=$(sha256sum "$work/www/data.bin" | cut -d' ' -f1)

"$native" serve "$work/www" --listen 127.0.0.1:0 --quiet >"$work/server.out" 2>"$work/server.err" &
server=$!
address= fingerprint=
for _ in $(seq 100); do
  address=$(sed -n 's/^listening on //p' "$work/server.out")
  fingerprint=$(sed -n 's/^certificate SHA-256 \([0-9a-f]*\).*/\1/p' "$work/server.out")
  [[ -n $address && -n $fingerprint ]] && break
  kill -0 "$server" 2>/dev/null || fail "the server ended: $(tail -n 1 "$work/server.err")"
  sleep 0.1
done
[[ -n $fingerprint ]] || fail "the server was not ready after 10 s."
echo "demo: \`quasi serve\` (native) listens on $address"

# The first start compiles the component; Wasmtime keeps the result.
"$wasm" --help >/dev/null || fail "the component does not start in Wasmtime; see above."

for cipher in chacha20 aes128gcm; do
  echo "demo: \`quasi-wasm get https://$address/data.bin --cipher $cipher --pin ${fingerprint:0:8}...\`"
  out="$work/in/$cipher.bin"
  # CPU time is that of Wasmtime and everything in it, by the shell's own accounting.
  TIMEFORMAT='%R %U %S'
  if ! { time timeout 120 "$wasm" get "https://$address/data.bin" --pin "$fingerprint" \
    --cipher "$cipher" --json --quiet -o "$out" >"$work/$cipher.json" 2>"$work/$cipher.err"; } \
    2>"$work/$cipher.time"; then
    cat "$work/$cipher.err" >&2
    fail "the download with $cipher failed; see above."
  fi
  received=$(sha256sum "$out" | cut -d' ' -f1)
  [[ $received == "$served" ]] ||
    fail "the SHA-256 differs with $cipher: served $served, received $received."
  python3 - "$work/$cipher.json" "$work/$cipher.time" "$received" <<'EOF'
import json
import pathlib
import sys

result = json.loads(pathlib.Path(sys.argv[1]).read_text())
wall, user, system = map(float, pathlib.Path(sys.argv[2]).read_text().split()[-3:])
gib = result["bytes"] / 2**30
print(f"demo:   {result['bytes'] >> 20} MiB with {result['cipher']} in {result['seconds']:.2f} s: "
      f"{result['mbit_per_second']:.0f} Mb/s; "
      f"{(user + system) * 1e3 / gib:.0f} ms of CPU per GiB (start-up and writing included)")
print(f"demo:   SHA-256 {sys.argv[3]} is right")
EOF
  rm -f "$out"
done
version=$(.venv/bin/wasmtime --version 2>/dev/null || true)
echo "demo: passed${version:+ (in ${version% (*})}"
