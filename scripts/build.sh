#!/usr/bin/env bash
# Configures and builds presets: scripts/build.sh PRESET... [-- TARGET...]
# Quiet when all is well; the whole output is in build/PRESET/build.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="${HOME:-/nonexistent}/.cargo/bin:$PATH"

presets=()
targets=()
while (($# > 0)); do
  if [[ $1 == -- ]]; then
    shift
    targets=(--target "$@")
    break
  fi
  presets+=("$1")
  shift
done

for preset in "${presets[@]}"; do
  mkdir -p "build/$preset"
  log="build/$preset/build.log"
  started=$SECONDS
  if ! {
    cmake --preset "$preset" >"$log" 2>&1 &&
      cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}" >>"$log" 2>&1
  }; then
    tail -n 40 "$log" >&2
    echo "build: preset $preset does not build (the whole output is in $log)." >&2
    exit 1
  fi
  echo "build: $preset ready after $((SECONDS - started)) s"
done
