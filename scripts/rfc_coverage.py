#!/usr/bin/env python3
"""Turns the citations in the sources (`RFC 9000 §13.2.1`) into docs/rfc-coverage.md: for
each section, where it is implemented, where it is tested, or why it is deliberately not.

  scripts/rfc_coverage.py              write docs/rfc-coverage.md
  scripts/rfc_coverage.py --check      only check: every citation names a section that exists
  scripts/rfc_coverage.py --current    the same, and the page must be up to date
"""

import collections
import pathlib
import re
import sys

from check_sources import ROOT, project_files

SECTIONS = ROOT / "scripts" / "rfc" / "sections.txt"
NOTES = ROOT / "scripts" / "rfc" / "notes.txt"
PAGE = ROOT / "docs" / "rfc-coverage.md"
CODE = {"include", "src", "apps", "test"}
SUFFIXES = {".h", ".cc", ".rs", ".py"}

SECTION = r"(?:[0-9]+|[A-Z])(?:\.[0-9]+)*"
CITATION = re.compile(
    rf"RFC (\d{{3,5}}),? ((?:(?:, |,? and |,? or | to |–|-)?(?:§§? ?|(?:[Ss]ections?|[Aa]ppendix) ){SECTION}"
    rf"(?:(?:, | and |–|-)[0-9]+(?:\.[0-9]+)*(?![\w-]))*)+)")


def read_sections():
    """{rfc: {section: title}}, in the documents' order, and {rfc: title}."""
    sections, titles, rfc = collections.OrderedDict(), {}, None
    for line in SECTIONS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        number, title = line.split(" ", 1)
        if number == "RFC":
            rfc, titles_text = title.split(" ", 1)
            sections[rfc], titles[rfc] = collections.OrderedDict(), titles_text
        else:
            sections[rfc][number] = title
    return sections, titles


def read_notes(sections):
    """{(rfc, section): (kind, reason)}."""
    notes = {}
    for number, line in enumerate(NOTES.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\d+) (\S+) (none|not): (.+)", line)
        if not match:
            sys.exit(f"{NOTES.name}:{number}: not of the form 'RFC SECTION none: reason'.")
        rfc, span, kind, reason = match.groups()
        first, _, last = span.partition("-")
        order = list(sections[rfc])
        begin = order.index(first)
        end = order.index(last or first)
        while end + 1 < len(order) and order[end + 1].startswith((last or first) + "."):
            end += 1
        for section in order[begin:end + 1]:
            notes[rfc, section] = (kind, reason)
    return notes


def citations(text):
    """(rfc, section) of each citation, also of those that a comment breaks over two lines."""
    joined = re.sub(r"\s*\n\s*(?://+[/!]?|#+)\s*", " ", text)
    for rfc, tail in CITATION.findall(joined):
        for section in re.findall(SECTION, re.sub(r"[Ss]ections?|[Aa]ppendix|and|or|to", "", tail)):
            yield rfc, section


def is_test(path):
    return path.parts[0] == "test" or path.stem.endswith("_test")


def collect():
    implemented, tested = collections.defaultdict(set), collections.defaultdict(set)
    for path in project_files():
        if path.parts[0] not in CODE or path.suffix not in SUFFIXES:
            continue
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for key in citations(text):
            (tested if is_test(path) else implemented)[key].add(path)
    return implemented, tested


def link(paths):
    """The files, a source and its header as one."""
    groups = collections.OrderedDict()
    for path in sorted(paths):
        groups.setdefault(path.with_suffix(""), []).append(path)
    cells = []
    for stem, members in groups.items():
        best = max(members, key=lambda p: p.suffix == ".cc")
        shown = stem.relative_to("src") if stem.parts[0] == "src" else stem
        cells.append(f"[{shown}](../{best})")
    return ", ".join(cells)


def sort_key(section):
    return [(part.isalpha(), part.rjust(4, "0")) for part in section.split(".")]


def render(sections, titles, notes, implemented, tested):
    out = ["# RFC coverage", "",
           "Made from the citations in the sources by `scripts/rfc_coverage.py`; do not edit. A section",
           "counts as implemented, or as tested, where code, or a test, cites it. *Nothing to implement*",
           "and *deliberately not* come from `scripts/rfc/notes.txt`. An empty row is a section that",
           "nobody has cited.", ""]
    rows = {}
    for rfc, known in sections.items():
        lines, counts = [], collections.Counter()
        for section, title in known.items():
            key = (rfc, section)
            code, tests = link(implemented.get(key, ())), link(tested.get(key, ()))
            kind, reason = notes.get(key, (None, None))
            if not code and kind:
                code = f"*nothing to implement: {reason}*" if kind == "none" else f"**deliberately not:** {reason}"
                counts["nothing to implement" if kind == "none" else "deliberately not"] += 1
            elif code:
                counts["implemented"] += 1
            else:
                counts["not cited"] += 1
            counts["tested"] += bool(tests)
            lines.append(f"| {section} | {title} | {code} | {tests} |")
        rows[rfc] = (lines, counts)
    kinds = ["implemented", "tested", "nothing to implement", "deliberately not", "not cited"]
    out += ["| Document | " + " | ".join(kinds) + " |", "|---|" + "---:|" * len(kinds)]
    for rfc, (_, counts) in rows.items():
        out.append(f"| [RFC {rfc}](#rfc-{rfc}) | " + " | ".join(str(counts[k]) for k in kinds) + " |")
    for rfc, (lines, _) in rows.items():
        out += ["", f"## RFC {rfc}", "", f"{titles[rfc]}.", "",
                "| § | Title | Implemented in | Tested in |", "|---|---|---|---|", *lines]
    others = sorted({key for key in [*implemented, *tested] if key[0] not in sections},
                    key=lambda key: (int(key[0]), sort_key(key[1])))
    out += ["", "## Other documents", "", "| RFC | § | Implemented in | Tested in |", "|---|---|---|---|"]
    for key in others:
        out.append(f"| {key[0]} | {key[1]} | {link(implemented.get(key, ()))} | {link(tested.get(key, ()))} |")
    return "\n".join(out) + "\n"


def main():
    sections, titles = read_sections()
    notes = read_notes(sections)
    implemented, tested = collect()
    problems = [
        f"{path}: cites RFC {rfc} §{section}, which that document does not have"
        for table in (implemented, tested) for (rfc, section), paths in table.items()
        if rfc in sections and section not in sections[rfc] for path in sorted(paths)]
    page = render(sections, titles, notes, implemented, tested)
    if sys.argv[1:] == ["--current"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
            problems.append("docs/rfc-coverage.md is out of date; 'make format' writes it anew")
    elif sys.argv[1:] != ["--check"]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
