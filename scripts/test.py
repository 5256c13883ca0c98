#!/usr/bin/env python3
"""Every test, in stages; prints how long each took and, at the very end, one line
`N passed, N failed` that sums the test cases of all runs.

  scripts/test.py              all stages
  scripts/test.py --list       their names
  scripts/test.py NAME...      only these
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
JOBS = str(os.cpu_count() or 2)
# Tests of the modules whose code differs between SIMD levels.
KERNEL_TESTS = ["base_test", "aead_test", "protect_test"]


def run(command, timeout, log=None, env=None):
    """Runs a command; returns its exit code (124 after the timeout) and its output."""
    environment = dict(os.environ, **(env or {}))
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace")
        code, output = 124, output + f"\nstopped after {timeout} s\n"
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(output)
    return code, output


def build(preset, targets=None):
    command = ["scripts/build.sh", preset] + (["--", *targets] if targets else [])
    code, output = run(command, 1800)
    if code != 0:
        print(output)
    return code == 0


def count_cases(output, succeeded):
    """Test cases in the output of one program: GoogleTest's, Python's unittest's, a line
    'N passed, N failed', or else the program itself as one case."""
    ok = len(re.findall(r"^\[       OK \] ", output, re.MULTILINE))
    bad = len(re.findall(r"^\[  FAILED  \] .* \(\d+ ms\)$", output, re.MULTILINE))
    if not (ok or bad):
        told = re.findall(r"(\d+) passed, (\d+) failed", output)
        ran = re.search(r"^Ran (\d+) tests? in", output, re.MULTILINE)
        if told:
            ok, bad = int(told[-1][0]), int(told[-1][1])
        elif ran:
            bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", output))
            ok = int(ran[1]) - bad
        else:
            ok = 1 if succeeded else 0
    if not succeeded and bad == 0:
        bad = 1  # it crashed or never ended: no case says so itself
    return ok, bad


def ctest(preset, arguments=()):
    """Runs ctest in a preset's build folder and adds up the cases of its programs."""
    folder = BUILD / preset
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    log.unlink(missing_ok=True)
    code, output = run(["ctest", "--test-dir", str(folder), "--output-on-failure", "--parallel",
                        JOBS, "--no-tests=error", *arguments], 3600, folder / "ctest.log")
    passed = failed = 0
    text = log.read_text(errors="replace") if log.exists() else ""
    blocks = re.split(r"^\d+/\d+ (?:Testing|Test): .*\n(?=\d+/\d+ Test: )", text, flags=re.MULTILINE)[1:]
    for block in blocks:
        succeeded = re.search(r"^Test Passed\.$", block, re.MULTILINE) is not None
        ok, bad = count_cases(block, succeeded)
        passed, failed = passed + ok, failed + bad
    if code != 0:
        print(output)
        failed = max(failed, 1)
    return passed, failed


def stage_rules():
    passed = failed = 0
    for script in ("check_sources.py", "rfc_coverage.py"):
        code, output = run([sys.executable, f"scripts/{script}"] +
                           (["--check"] if script == "rfc_coverage.py" else []), 300)
        if code != 0:
            print(output, end="")
        passed, failed = passed + (code == 0), failed + (code != 0)
    return passed, failed


def stage_native():
    # The end-to-end tests also start the component.
    if not (build("native") and build("wasm-relaxed")):
        return 0, 1
    return ctest("native")


def stage_wasm():
    return ctest("wasm-relaxed") if build("wasm-relaxed") else (0, 1)


def present(preset, names):
    """Those of the ctests `names` that the preset has."""
    code, output = run(["cmake", "--preset", preset], 300)
    if code != 0:
        print(output)
        return None
    code, output = run(["ctest", "--test-dir", str(BUILD / preset), "--show-only=json-v1"], 60)
    known = {test["name"] for test in json.loads(output)["tests"]}
    return [name for name in names if name in known]


def stage_subset(preset, names, programs=()):
    targets = present(preset, names)
    if not targets or not build(preset, [*targets, *programs]):
        return 0, 1
    return ctest(preset, ["-R", "^(" + "|".join(targets) + ")$"])


def stage_sanitizers():
    if not build("asan", ["unit_tests"]):
        return 0, 1
    return ctest("asan", ["-L", "^unit$"])


def stage_interop():
    script = ROOT / "test" / "interop" / "run.py"
    if not script.exists():
        return 0, 0
    if not (build("native") and build("wasm-relaxed")):
        return 0, 1
    code, output = run([sys.executable, str(script), "--quick"], 900, BUILD / "interop.log")
    passed, failed = count_cases(output, code == 0)
    if failed:
        print(output)
    return passed, failed


STAGES = {
    "rules": stage_rules,
    "native": stage_native,
    "wasm-relaxed": stage_wasm,
    "wasm-simd": lambda: stage_subset("wasm-simd", KERNEL_TESTS),
    "wasm-base": lambda: stage_subset("wasm-base", KERNEL_TESTS),
    "native-port": lambda: stage_subset("native-port", KERNEL_TESTS),
    "native-gcc": lambda: stage_subset("native-gcc", KERNEL_TESTS, ["quasi"]),
    "asan": stage_sanitizers,
    "interop": stage_interop,
}


def main():
    arguments = sys.argv[1:]
    if arguments == ["--list"]:
        print("\n".join(STAGES))
        return 0
    unknown = [name for name in arguments if name not in STAGES]
    if unknown:
        print(f"test: there is no stage {unknown[0]}; the stages are {', '.join(STAGES)}.")
        return 2
    if not shutil.which("cmake"):
        print("test: cmake is missing; run scripts/setup.sh first.")
        return 2
    total_passed = total_failed = 0
    began = time.monotonic()
    for name in arguments or STAGES:
        print(f"test: {name} ...", flush=True)
        started = time.monotonic()
        passed, failed = STAGES[name]()
        took = time.monotonic() - started
        print(f"test: {name}: {passed} passed, {failed} failed, {took:.0f} s", flush=True)
        total_passed, total_failed = total_passed + passed, total_failed + failed
    print(f"test: all stages took {time.monotonic() - began:.0f} s")
    print(f"{total_passed} passed, {total_failed} failed", flush=True)
    return 1 if total_failed or not total_passed else 0


if __name__ == "__main__":
    sys.exit(main())
