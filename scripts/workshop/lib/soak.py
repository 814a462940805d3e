"""Draws the measures of a soak, in light and in dark colours. Run through scripts/workshop/soak: soak.py SAMPLES PICTURE."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pictures import DARK, LIGHT, Picture  # noqa: E402

MEASURES = [("memory", "memory, MB", 1024), ("heap", "memory in use, MB", 1024), ("descriptors", "open descriptors", 1),
            ("threads", "threads", 1), ("database", "database file, KB", 1), ("log", "write-ahead log, KB", 1),
            ("slots", "database with key slots, KB", 1)]
PANEL = 108


def draw(samples, colours):
    seconds = [float(row["seconds"]) for row in samples]
    total = max(seconds[-1], 1e-9)
    left, width, height = 50, 370, 60
    p = Picture(440, 50 + PANEL * len(MEASURES), "Everything together", colours)
    p.text(10, 24, f"Everything together, {total / 60:.3g} minutes", 16, anchor="start", weight="bold")
    for index, (name, title, unit) in enumerate(MEASURES):
        values = [float(row[name]) / unit for row in samples]
        top, largest = 66 + PANEL * index, max(*values, 1e-9)
        p.text(10, top - 8, title, 13, "soft", "start")
        p.text(left - 6, top + 10, f"{largest:.4g}", 12, "soft", "end")
        p.text(left - 6, top + height, "0", 12, "soft", "end")
        # The first third is the warm-up.
        p.parts.append(f'<rect x="{left}" y="{top}" width="{width / 3:g}" height="{height}" fill="{colours["plain"]}"/>')
        p.parts.append(f'<path d="M{left} {top} v{height} h{width}" fill="none" stroke="{colours["line"]}"/>')
        # No more points than the picture has columns: the highest of those in one.
        step = max(1, len(values) // width)
        points = [(left + seconds[at] / total * width, top + height - max(values[at:at + step]) / largest * height)
                  for at in range(0, len(values), step)]
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        p.parts.append(f'<path d="{path}" fill="none" stroke="{colours["bar"]}" stroke-width="1.5"/>')
    return p


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    with open(source, newline="") as file:
        samples = list(csv.DictReader(file))
    if len(samples) < 2:
        sys.exit("soak: there are no samples to draw")
    target.write_text(draw(samples, LIGHT).svg())
    target.with_name(f"{target.stem}~dark.svg").write_text(draw(samples, DARK).svg())
    print(f"soak: {target} shows the measures")


if __name__ == "__main__":
    main()
