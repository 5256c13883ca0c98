#!/usr/bin/env python3
"""Downloads in both directions between quasi, natively and in Wasm, and independent QUIC
stacks (Quinn, aioquic, quic-go), each started and ended here. Compares every byte.

  test/interop/run.py             everything, with 1 GiB from Quinn and 100 MB from aioquic
  test/interop/run.py --quick     one download a pair and suite: the part in `make test`
  test/interop/run.py --peers     only the peers among themselves: whether this harness works
  ... --server NAME --client NAME --suite SUITE --feature FEATURE   only these (repeatable)
  ... --list                      names what would run

Prints one line a test, a table, and `N passed, N failed`; exit code 1 if anything failed, 2 if
nothing could run. Details are in build/interop/results.json and build/interop/logs.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cases
from cases import Case
from harness import FOLDER, SUITES, certificates, data
from harness.network import may_make_namespaces
from harness.processes import Problem
from harness.stacks import STACKS

LARGE = 1 << 30
MB = 10**6


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="the part that make test runs")
    parser.add_argument("--peers", action="store_true", help="only the peers among themselves")
    parser.add_argument("--server", action="append", choices=STACKS)
    parser.add_argument("--client", action="append", choices=STACKS)
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--feature", action="append", choices=[*cases.FEATURES, "large"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / "results.json")
    return parser.parse_args()


def pairs(options):
    """Servers and clients of which exactly one is ours (with --peers: none)."""
    for server in STACKS.values():
        for client in STACKS.values():
            if server.is_ours + client.is_ours != (0 if options.peers else 1):
                continue
            if options.quick and "quic-go" in (server.name, client.name):
                continue
            if server.name == client.name == "quic-go":
                continue  # neither side can choose the suite
            yield server, client


def large(server, client):
    """The sizes that a pair has to manage besides the small ones."""
    if not client.is_ours:
        return [100 * MB] if server.is_ours else []
    return {"quinn": [LARGE], "aioquic": [100 * MB], "quic-go": [100 * MB]}[server.name]


def plan(options):
    for number, (server, client) in enumerate(pairs(options)):
        suites = list(SUITES)
        if options.quick:
            # Quinn, the faster one, goes through the suites; aioquic takes turns.
            if "quinn" not in (server.name, client.name):
                suites = [SUITES[number % 3]]
            for suite in suites:
                yield Case(server, client, suite, "download", MB)
            feature = "files" if server.name == "quinn" or client.name == "aioquic" else \
                "retry" if server.is_ours else "key-update"
            yield Case(server, client, SUITES[(number + 2) % 3], feature)
            continue
        for suite in suites:
            yield Case(server, client, suite, "download", 10 * MB)
        for index, feature in enumerate(cases.FEATURES):
            if feature != "download":
                yield Case(server, client, SUITES[(number + index) % 3], feature)
        for length in large(server, client):
            for suite in suites:
                yield Case(server, client, suite, "download", length)


def wanted(case, options):
    feature = "large" if case.feature == "download" and case.length > 10 * MB else case.feature
    return (not options.server or case.server.name in options.server) and \
        (not options.client or case.client.name in options.client) and \
        (not options.suite or case.suite in options.suite) and \
        (not options.feature or feature in options.feature) and cases.applies(case)


def prepare(chosen, options):
    """Builds what is needed; returns the stacks that are missing, with the reason."""
    missing = {}
    for name in dict.fromkeys(stack.name for case in chosen for stack in (case.server, case.client)):
        try:
            started = time.monotonic()
            STACKS[name].prepare()
            if time.monotonic() - started > 5:
                print(f"interop: {name} built in {time.monotonic() - started:.0f} s", flush=True)
        except Problem as problem:
            missing[name] = str(problem)
    return missing


def table(results):
    """Pairs by features, as Markdown: how many passed of how many."""
    columns = list(dict.fromkeys(result["test"] for result in results))
    rows = list(dict.fromkeys((result["server"], result["client"]) for result in results))
    lines = ["| server | client | " + " | ".join(columns) + " |",
             "|---" * (len(columns) + 2) + "|"]
    for row in rows:
        cells = []
        for column in columns:
            states = [result["state"] for result in results
                      if (result["server"], result["client"]) == row and result["test"] == column]
            ran = [state for state in states if state != "skipped"]
            good = ran.count("passed")
            cells.append("" if not states else "skipped" if not ran else
                         "FAILED" if good == 0 else
                         f"{good} of {len(ran)}" if good < len(ran) else
                         "ok" if good == 1 else f"ok ({good})")
        lines.append(f"| {row[0]} | {row[1]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    options = parse()
    chosen = [case for case in plan(options) if wanted(case, options)]
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    missing = prepare(chosen, options)
    for name, why in missing.items():
        print(f"interop: no tests with {name}: {why}.", flush=True)
    no_namespaces = may_make_namespaces()
    logs = FOLDER / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    results = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="quasi-interop-") as temporary:
        base = pathlib.Path(temporary)
        place = cases.Place(work=base / "work", logs=logs, www=base / "www",
                            certificates=certificates.make(base / "certificates"))
        place.work.mkdir()
        for name, length in cases.FILES.items():
            data.write(place.www / name, length)
        if any(case.server.is_ours and case.label == "100m" for case in chosen):
            data.write(place.www / f"{100 * MB}.bin", 100 * MB)
        for case in chosen:
            started = time.monotonic()
            state, remark = "passed", ""
            absent = [stack.name for stack in (case.server, case.client) if stack.name in missing]
            if absent:
                # Go is not among what the set-up asks for; everything else has to be there.
                state = "skipped" if absent == ["quic-go"] else "failed"
                remark = f"{absent[0]} is missing"
            elif case.feature == "small-mtu" and no_namespaces:
                state, remark = "skipped", no_namespaces
            else:
                try:
                    remark = cases.run(place, case)
                except Problem as problem:
                    state, remark = "failed", str(problem)
            seconds = time.monotonic() - started
            results.append({"server": case.server.name, "client": case.client.name,
                            "suite": case.suite, "test": case.label, "state": state,
                            "seconds": round(seconds, 2), "remark": remark})
            print(f"{state:7} {case.server.name:>10} -> {case.client.name:10} {case.suite:9} "
                  f"{case.label:20} {seconds:6.1f} s  {remark}", flush=True)
    passed = sum(result["state"] == "passed" for result in results)
    failed = sum(result["state"] == "failed" for result in results)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"results": results, "passed": passed, "failed": failed,
                                        "seconds": round(time.monotonic() - began, 1)}, indent=1))
    print("\n" + table(results) + "\n")
    for name, why in missing.items():
        print(f"interop: no tests with {name}: {why}.")
    print(f"interop: {time.monotonic() - began:.0f} s; logs are in {logs.relative_to(FOLDER.parents[1])}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0 if passed else 2


if __name__ == "__main__":
    sys.exit(main())
