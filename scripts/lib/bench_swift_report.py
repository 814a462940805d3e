"""Medians and ratios of a run: as a table, as JSON and as an SVG chart. Loaded by bench.py."""

import json
import math
from pathlib import Path
from statistics import median
from xml.sax.saxutils import escape


def ratio(seconds, other):
    """The median of the rounds' own ratios: what slowed a whole round down falls out of it."""
    return median(a / b for a, b in zip(seconds, other))


def results(suite, workload, seconds):
    """A workload's objects for the JSON, from {variant: [seconds of each round]}."""
    return [
        {
            "suite": suite,
            "workload": workload,
            "variant": name,
            "seconds": median(own),
            "ratios": {other: ratio(own, theirs) for other, theirs in seconds.items() if other != name},
        }
        for name, own in seconds.items()
    ]


def time_text(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def print_table(seconds_by_workload, variants):
    """A row for each workload and variant: the median, the best, and the ratio to each other variant; that of the two
    best rounds stands in parentheses beside it, as noise only ever slows down."""
    rows = [("workload", "variant", "median", "best", *(f"× {name}" for name in variants))]
    for workload, seconds in seconds_by_workload.items():
        for name, own in seconds.items():
            cells = []
            for other in variants:
                theirs = seconds.get(other)
                shown = theirs is not None and other != name
                cells.append(f"{ratio(own, theirs):.2f} ({min(own) / min(theirs):.2f})" if shown else "")
            rows.append((workload if name == next(iter(seconds)) else "", name, time_text(median(own)), time_text(min(own)), *cells))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def write_json(path, objects):
    Path(path).write_text(json.dumps(objects, indent=2, ensure_ascii=False) + "\n")


# --- The chart --------------------------------------------------------------------------------------------------------

COLOURS = ("#6b7280", "#2563eb", "#d97706", "#dc2626", "#7c3aed", "#059669")
BAR, GAP, LEFT, WIDTH, TOP = 13, 12, 190, 860, 64


def write_svg(path, objects, base, variants, title):
    """Bars of each variant's ratio to `base`, or to the slowest where a workload has no base. The scale is logarithmic,
    so that half and double are equally long; a bar to the left of 1 is faster."""
    workloads = {}
    for each in objects:
        workloads.setdefault(each["workload"], {})[each["variant"]] = each
    bars = {}
    for workload, found in workloads.items():
        anchor = base if base in found else max(found, key=lambda name: found[name]["seconds"])
        bars[workload] = [
            (name, found[name]["ratios"].get(anchor, 1.0), found[name]["seconds"]) for name in variants if name in found]
    values = [value for group in bars.values() for _, value, _ in group]
    low = math.floor(math.log2(min(values + [1])))
    high = math.ceil(math.log2(max(values + [2])))
    room = WIDTH - LEFT - 150

    def x(value):
        return LEFT + room * (math.log2(value) - low) / (high - low)

    body = []
    y = TOP
    for workload, group in bars.items():
        middle = y + len(group) * BAR / 2 + 4
        body.append(f'<text x="{LEFT - 12}" y="{middle:.0f}" text-anchor="end">{escape(workload)}</text>')
        for name, value, seconds in group:
            start, end = sorted((x(1), x(value)))
            colour = COLOURS[variants.index(name) % len(COLOURS)]
            body.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1.5):.1f}" height="{BAR - 2}" fill="{colour}"/>'
                f'<text class="value" x="{max(end, x(1)) + 5:.1f}" y="{y + BAR - 4}">{value:.2f} · {time_text(seconds)}</text>')
            y += BAR
        y += GAP
    grid = "".join(
        f'<line x1="{x(2.0 ** power):.1f}" x2="{x(2.0 ** power):.1f}" y1="{TOP - 8}" y2="{y - GAP + 4}" '
        f'class="{"one" if power == 0 else "grid"}"/>'
        f'<text class="value" x="{x(2.0 ** power):.1f}" y="{TOP - 12}" text-anchor="middle">{2.0 ** power:g}</text>'
        for power in range(low, high + 1))
    legend, at = [], LEFT
    for name in variants:
        colour = COLOURS[variants.index(name) % len(COLOURS)]
        legend.append(f'<rect x="{at}" y="30" width="11" height="11" fill="{colour}"/><text x="{at + 16}" y="40">{escape(name)}</text>')
        at += 34 + 8 * len(name)
    Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4}" role="img" font-family="sans-serif" font-size="12">\n'
        "<style>text{fill:#111827}.value{font-size:10px;fill:#4b5563}.grid{stroke:#e5e7eb}.one{stroke:#111827}</style>\n"
        f'<title>{escape(title)}</title>\n<rect width="{WIDTH}" height="{y + 4}" fill="#ffffff"/>\n'
        f'<text x="12" y="18" font-weight="bold">{escape(title)}</text>\n'
        + "".join(legend) + "\n" + grid + "\n" + "\n".join(body) + "\n</svg>\n")
