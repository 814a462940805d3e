"""Turns measured times into medians and ratios, as a table, as JSON and as a chart. Shared by the suites."""

from html import escape
from statistics import median


def summarize(suite, workloads, variants, times):
    """A list of {"suite", "workload", "variant", "seconds", "ratios"}. `seconds` is the median. `ratios` maps each other variant to
    the median, over the rounds, of this variant's time divided by that one's."""
    results = []
    for workload in workloads:
        for variant in variants:
            own = times[workload, variant]
            if not own:
                continue
            ratios = {}
            for other in variants:
                theirs = times[workload, other]
                if other != variant and theirs:
                    ratios[other] = round(median(a / b for a, b in zip(own, theirs)), 3)
            results.append({"suite": suite, "workload": workload, "variant": variant,
                            "seconds": round(median(own), 9), "ratios": ratios})
    return results


def shown_seconds(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def table(results, workloads, variants):
    """Seconds for each variant, with the ratio to the first variant in parentheses if that one was measured."""
    found = {(r["workload"], r["variant"]): r for r in results}
    rows = [["workload", *variants]]
    for workload in workloads:
        row = [workload]
        for variant in variants:
            result = found.get((workload, variant))
            if result is None:
                row.append("–")
                continue
            ratio = result["ratios"].get(variants[0])
            row.append(shown_seconds(result["seconds"]) + (f" ({ratio:.2f})" if ratio else ""))
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def chart(results, workloads, variants, baseline, title):
    """Bars of each variant's time divided by the baseline's (or by the slowest one's if there is no baseline), as SVG."""
    found = {(r["workload"], r["variant"]): r for r in results}
    colours = ["#9aa0a6", "#c5483f", "#d79b28", "#7a5aa6", "#1f7a4d", "#6fb58f", "#3b6fb5", "#555555"]
    bar, gap, left, width = 13, 22, 150, 560
    height = 84
    body = []
    longest = 1.0
    groups = []
    for workload in workloads:
        bars = []
        measured = [found[workload, v]["seconds"] for v in variants if (workload, v) in found]
        for index, variant in enumerate(variants):
            result = found.get((workload, variant))
            if result is None:
                continue
            value = result["ratios"].get(baseline, 1.0) if (workload, baseline) in found else (
                result["seconds"] / max(measured))
            longest = max(longest, value)
            bars.append((index, variant, value, result["seconds"]))
        groups.append((workload, bars))
    for workload, bars in groups:
        body.append(f'<text x="{left - 10}" y="{height + len(bars) * bar / 2 + 4:.0f}" text-anchor="end">'
                    f"{escape(workload)}</text>")
        for index, variant, value, seconds in bars:
            body.append(f'<rect x="{left}" y="{height}" width="{max(1, value / longest * width):.1f}" height="{bar - 2}" '
                        f'fill="{colours[index % len(colours)]}"/>')
            body.append(f'<text x="{left + value / longest * width + 6:.1f}" y="{height + bar - 4}" class="small">'
                        f"{value:.2f} · {shown_seconds(seconds)}</text>")
            height += bar
        height += gap
    legend = []
    for index, variant in enumerate(variants):
        x = left + index * 118
        legend.append(
            f'<rect x="{x}" y="52" width="11" height="11" fill="{colours[index % len(colours)]}"/>'
            f'<text x="{x + 16}" y="62">{escape(variant)}</text>'
        )
    legend.append(
        f'<text x="10" y="20" font-size="16" font-weight="bold">{escape(title)}</text>'
        f'<text x="10" y="38">Time as a multiple of {escape(baseline)}\'s, and the median in seconds. Smaller is better.</text>'
    )
    # The axis, with a mark at each whole multiple.
    step = max(1, round(longest / 8))
    for multiple in range(0, int(longest) + 1, step):
        x = left + multiple / longest * width
        body.append(f'<path d="M{x:.1f} 76V{height - gap + 4}" stroke="#bbb" stroke-dasharray="2 3"/>'
                    f'<text x="{x:.1f}" y="{height + 2}" text-anchor="middle" class="small">{multiple} ×</text>')
    height += 14
    total = left + max(width + 150, len(variants) * 118)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="12"><style>.small{font-size:9px;fill:#444}</style>'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(legend)}{"".join(body)}</svg>\n')
