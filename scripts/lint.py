#!/usr/bin/env python3
"""Everything that can be said about the sources without running them: formatting and house
rules, RFC citations and their page, and clang-tidy over the native compile database.

  scripts/lint.py              all of it
  scripts/lint.py WORD...      clang-tidy only over files whose path contains a WORD
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from check_sources import ROOT, project_files

BUILD = ROOT / "build" / "native"


def tidy_sources(words):
    """Sources of the library and the program: no tests, nothing generated."""
    ours = {str(ROOT / path) for path in project_files()
            if path.parts[0] in {"src", "apps"} and not path.stem.endswith("_test")}
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    files = sorted({str(pathlib.Path(entry["directory"], entry["file"]).resolve())
                    for entry in entries} & ours)
    if words:
        files = [f for f in files if any(word in os.path.relpath(f, ROOT) for word in words)]
    return files


def tidy(path):
    done = subprocess.run(["clang-tidy-22", "--quiet", "-p", str(BUILD), path], cwd=ROOT,
                          capture_output=True, text=True)
    return path, done.returncode, done.stdout


def main():
    words = sys.argv[1:]
    failed = False
    if not words:
        for command in (["check_sources.py"], ["rfc_coverage.py", "--current"]):
            failed |= subprocess.run([sys.executable, str(ROOT / "scripts" / command[0]),
                                      *command[1:]]).returncode != 0
    # Generated headers and the Rust library are no part of this: configuring is enough.
    configured = subprocess.run(["cmake", "--preset", "native"], cwd=ROOT, capture_output=True,
                                text=True)
    if configured.returncode != 0:
        print(configured.stdout, configured.stderr,
              "lint: the preset native cannot be configured; see above.", sep="\n")
        return 1
    files = tidy_sources(words)
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(tidy, files):
            if code == 0:
                continue
            failed = True
            if output not in seen:  # a header's finding comes once per source
                print(output.strip() or f"{path}: clang-tidy failed", flush=True)
            seen.add(output)
    print(f"clang-tidy looked at {len(files)} sources" + ("" if not failed else ": see above"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
