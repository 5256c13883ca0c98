#!/usr/bin/env python3
"""Bulk download: goodput, the receiver's CPU time per GiB and its peak memory, natively and
in Wasm, beside what the same runtime spends on receiving and discarding bare datagrams, and
beside a native Quinn client. docs/benchmarks.md explains the method.

  bench/run.py                    three rounds of everything; a few minutes
  bench/run.py --rounds N --mib N --receiver NAME... --suite NAME... --loopback
  bench/run.py --json FILE --markdown FILE

Exit code 0: every target is met; 1: one is missed; 2: something could not run (the last line
says what).
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "interop"))

from harness import FOLDER, certificates
from harness.network import Pair, may_make_namespaces
from harness.processes import Problem
from harness.stacks import STACKS

import receivers
from receivers import Bench

GIB = 1 << 30
SUITES = {"aes128gcm": "AES-128-GCM", "chacha20": "ChaCha20-Poly1305"}
PEAK_LIMIT_MIB = 64
# Receiver, suite: what its CPU time is compared with, and the highest ratio that is met.
TARGETS = {
    ("wasm-relaxed", "chacha20"): ("floor-wasm", 2.5),
    ("wasm-relaxed", "aes128gcm"): ("floor-wasm", 5.0),
    ("native", "aes128gcm"): ("quinn", 1.3),
    ("native", "chacha20"): ("quinn", 1.3),
}


def parse():
    parser = argparse.ArgumentParser(description="Bulk download over QUIC.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=1024, help="MiB of a native download (1024); "
                        "Wasm takes half, Wasm without SIMD a sixteenth")
    parser.add_argument("--receiver", action="append", choices=receivers.RECEIVERS)
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--loopback", action="store_true", help="no network namespaces")
    parser.add_argument("--json", type=pathlib.Path, default=FOLDER / "bench.json")
    parser.add_argument("--markdown", type=pathlib.Path)
    return parser.parse_args()


def machine():
    model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(),
                      re.MULTILINE)
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} CPUs, " \
           f"Linux {platform.release()}"


def commit():
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout
    changed = git("status", "--porcelain", "--untracked-files=no").strip()
    return (git("rev-parse", "--short", "HEAD").strip() or "unknown") + \
        (" and changes" if changed else "")


def plan(options):
    """What runs in each round: (receiver, suite); floors have no suite."""
    present = [name for name in receivers.RECEIVERS if receivers.is_built(name)]
    wanted = options.receiver or present
    suites = options.suite or list(SUITES)
    for name in wanted:
        if name not in present:
            raise Problem(f"{name} is not built: {receivers.how_to_build(name)}")
    for target in ("native", "wasm-relaxed", "floor-wasm"):
        if not options.receiver and target not in present:
            raise Problem(f"{target} is not built: {receivers.how_to_build(target)}")
    return [(name, suite) for name in wanted
            for suite in ([None] if name.startswith("floor") else suites)]


def size(name, options):
    if name == "wasm-base":
        return options.mib << 16  # scalar AES takes half a minute a GiB
    return options.mib << (19 if "wasm" in name else 20)


def measure(bench, options):
    """All rounds; the runs of a round follow one another, so that noise hits them alike."""
    runs = plan(options)
    samples = {run: [] for run in runs}
    for name, suite in runs:
        # Compiles the component into the runtime's cache, and warms the file cache.
        bench.run(name, suite, 4 << 20)
    for number in range(options.rounds):
        for name, suite in runs:
            sample = bench.run(name, suite, size(name, options))
            samples[name, suite].append(sample)
            print(f"round {number + 1}: {name:14} {suite or '':9} {sample['mbps']:7.0f} Mb/s  "
                  f"{sample['cpu_ms_per_gib']:7.0f} ms/GiB  {sample['peak_mib']:4.0f} MiB",
                  file=sys.stderr, flush=True)
    return samples


def summarize(samples):
    rows = []
    for (name, suite), runs in samples.items():
        cpu = [run["cpu_ms_per_gib"] for run in runs]
        row = {"receiver": name, "suite": suite, "bytes": runs[0]["bytes"],
               "mbps": round(statistics.median(run["mbps"] for run in runs), 1),
               "cpu_ms_per_gib_min": round(min(cpu)),
               "cpu_ms_per_gib_median": round(statistics.median(cpu)),
               "peak_mib": round(max(run["peak_mib"] for run in runs), 1), "runs": runs}
        base, limit = TARGETS.get((name, suite), (None, None))
        other = next((other for (n, s), other in samples.items()
                      if n == base and s in (None, suite)), None)
        if other:
            ratios = [a["cpu_ms_per_gib"] / b["cpu_ms_per_gib"] for a, b in zip(runs, other)]
            row |= {"compared_with": base, "limit": limit, "ratio_min": round(min(ratios), 2),
                    "ratio_median": round(statistics.median(ratios), 2),
                    "met": statistics.median(ratios) <= limit}
        if name in ("native", "wasm-relaxed"):
            row["memory_met"] = row["peak_mib"] < PEAK_LIMIT_MIB
        rows.append(row)
    return rows


def markdown(rows, about):
    lines = [f"{about['date']}, commit {about['commit']}, {about['machine']}; {about['network']}; "
             f"{about['rounds']} rounds, median (minimum).", "",
             "| receiver | suite | Mb/s | CPU ms/GiB | peak MiB | CPU ratio | target |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        ratio = target = ""
        if "ratio_median" in row:
            ratio = f"{row['ratio_median']:.2f} ({row['ratio_min']:.2f}) x " \
                    f"{receivers.RECEIVERS[row['compared_with']]}"
            target = f"at most {row['limit']}: {'met' if row['met'] else 'MISSED'}"
        if "memory_met" in row:
            target += ("; " if target else "") + f"below {PEAK_LIMIT_MIB} MiB: " + \
                ("met" if row["memory_met"] else "MISSED")
        lines.append(
            f"| {receivers.RECEIVERS[row['receiver']]} | {SUITES.get(row['suite'], '')} "
            f"| {row['mbps']:,.0f} | {row['cpu_ms_per_gib_median']:,} "
            f"({row['cpu_ms_per_gib_min']:,}) | {row['peak_mib']:.0f} | {ratio} | {target} |")
    return "\n".join(lines)


def main():
    options = parse()
    try:
        STACKS["quinn"].prepare()
        why_not = "asked for" if options.loopback else may_make_namespaces()
        with tempfile.TemporaryDirectory(prefix="quasi-bench-") as temporary:
            folder = pathlib.Path(temporary)
            certificates.make(folder, addresses=("127.0.0.1", *Pair.addresses))
            if why_not is None:
                network = "two namespaces joined by veth, MTU 1500"
                with Pair() as pair:
                    samples = measure(Bench(folder, pair), options)
            else:
                network = f"loopback ({why_not})"
                samples = measure(Bench(folder, None), options)
    except Problem as problem:
        print(f"bench: {problem}.")
        return 2
    rows = summarize(samples)
    about = {"date": datetime.date.today().isoformat(), "commit": commit(), "machine": machine(),
             "network": network, "rounds": options.rounds}
    text = markdown(rows, about)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text + "\n")
    print(text + "\n")
    missed = [row for row in rows if not row.get("met", True) or not row.get("memory_met", True)]
    if os.getloadavg()[0] > (os.cpu_count() or 1) + 1:
        print(f"bench: the machine is busy (load {os.getloadavg()[0]:.1f}); figures are high and "
              "ratios uncertain.")
    if missed:
        print("bench: missed by " + ", ".join(
            f"{row['receiver']} {row['suite']}" for row in missed) + ".")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
