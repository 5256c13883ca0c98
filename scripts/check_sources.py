#!/usr/bin/env python3
"""House rules that a machine can check: formatting (clang-format-22), the length of a
file, the comment that opens it, include guards.

  scripts/check_sources.py            check; prints what is wrong, exit code 1 if anything is
  scripts/check_sources.py --format   format the sources in place
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 700  # "about 600": one concept a file
FORMATTED = {".cc", ".h"}
COUNTED = {".cc", ".h", ".rs", ".py", ".sh", ".cmake"}


def project_files():
    """Files that git tracks or would track, but no generated ones and no test data."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True).stdout
    for name in sorted(set(os.fsdecode(n) for n in listing.split(b"\0") if n)):
        path = pathlib.PurePosixPath(name)
        if {"generated", "testdata", "corpus"} & set(path.parts[:-1]):
            continue
        if (ROOT / name).is_file():
            yield path


def clang_format(paths, arguments):
    paths = [str(p) for p in paths]
    chunks = [paths[i::os.cpu_count() or 1] for i in range(os.cpu_count() or 1)]

    def run(chunk):
        if not chunk:
            return ""
        done = subprocess.run(["clang-format-22", *arguments, *chunk], cwd=ROOT,
                              capture_output=True, text=True)
        return done.stderr if done.returncode != 0 else ""

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return "".join(pool.map(run, chunks))


def check(path):
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    if path.suffix in COUNTED and len(lines) > MAX_LINES:
        yield f"{path}: {len(lines)} lines; split it, a file holds one concept ({MAX_LINES} at most)"
    if path.suffix in FORMATTED:
        if not path.stem.endswith("_test") and not (lines and lines[0].startswith("//")):
            yield f"{path}:1: opens without a comment that says what the file is for"
        # x86/target_*.h set the compiler's target for what follows them; a guard would lie.
        once = "#pragma once" in lines or path.stem.startswith("target_")
        if path.suffix == ".h" and not once:
            yield f"{path}: has no #pragma once"


def main():
    files = list(project_files())
    sources = [p for p in files if p.suffix in FORMATTED]
    if sys.argv[1:] == ["--format"]:
        errors = clang_format(sources, ["-i"])
        print(errors, end="")
        return 1 if errors else 0
    problems = [problem for path in files for problem in check(path)]
    untidy = clang_format(sources, ["--dry-run", "-Werror"])
    for name in sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", untidy, re.MULTILINE))):
        problems.append(f"{name}: is not formatted; 'make format' cures it")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(files)} files keep the house rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
