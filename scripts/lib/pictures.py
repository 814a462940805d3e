"""Draws the pictures of the articles, in light and in dark, as SVG. Run through scripts/pictures."""

import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ARTICLES = ROOT / "Sources" / "SQLCipherKit" / "Documentation.docc"
FOLDER = ARTICLES / "Resources"

LIGHT = {"text": "#1d1d1f", "soft": "#5f6368", "line": "#9aa0a6", "plain": "#f1f3f4", "cipher": "#dfe9f8", "key": "#fdf0d5",
         "good": "#dff0e4", "bar": "#3b6fb5", "other": "#9aa0a6", "grid": "#dadce0"}
DARK = {"text": "#f5f5f7", "soft": "#a9adb3", "line": "#80868b", "plain": "#2b2d30", "cipher": "#20344f", "key": "#4a3b16",
        "good": "#1f3d2a", "bar": "#7aa7e8", "other": "#80868b", "grid": "#3c4043"}


class Picture:
    def __init__(self, width, height, title, colours):
        self.width, self.height, self.title, self.colours = width, height, title, colours
        self.parts = []

    def text(self, x, y, text, size=14, colour="text", anchor="middle", weight="normal"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{self.colours[colour]}" text-anchor="{anchor}" '
                          f'font-weight="{weight}">{escape(text)}</text>')

    def box(self, x, y, width, height, lines, fill="plain", weight="normal"):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{self.colours[fill]}" '
                          f'stroke="{self.colours["line"]}"/>')
        lines = [lines] if isinstance(lines, str) else lines
        top = y + height / 2 - (len(lines) - 1) * 9 + 5
        for index, line in enumerate(lines):
            self.text(x + width / 2, top + index * 18, line, 14 if index == 0 else 12, "text" if index == 0 else "soft",
                      weight=weight if index == 0 else "normal")

    def arrow(self, points, label=None, at=None, dashed=False):
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{self.colours["soft"]}" stroke-width="1.5"{dash} '
                          'marker-end="url(#head)"/>')
        if label:
            self.text(*at, label, 12, "soft")

    def svg(self):
        head = (f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
                f'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="{self.colours["soft"]}"/></marker></defs>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" role="img">'
                f'<title>{escape(self.title)}</title>{head}{"".join(self.parts)}</svg>\n')


def page_encryption(colours):
    p = Picture(720, 330, "How a page is encrypted", colours)
    p.box(10, 20, 120, 60, ["Passphrase", "and salt of the file"], "key")
    p.arrow([(130, 50), (205, 50)])
    p.box(205, 20, 170, 60, ["PBKDF2-HMAC-SHA512", "256,000 rounds"])
    p.arrow([(375, 50), (450, 50)])
    p.box(450, 20, 120, 60, ["AES key", "32 bytes"], "key")
    p.arrow([(570, 50), (600, 50)])
    p.box(600, 20, 110, 60, ["HMAC key", "32 bytes"], "key")
    p.text(60, 126, "In memory", 13, "soft")
    p.box(130, 100, 440, 44, "Page: rows, indexes, text")
    p.arrow([(510, 80), (510, 100)])
    p.arrow([(350, 144), (350, 190)], "AES-256-CBC, a new IV for each write", (470, 172))
    p.text(60, 220, "In the file", 13, "soft")
    p.box(130, 192, 320, 44, "Ciphertext, 4,016 bytes", "cipher")
    p.box(450, 192, 70, 44, ["IV", "16 bytes"], "cipher")
    p.box(520, 192, 120, 44, ["HMAC-SHA512", "64 bytes"], "good")
    p.arrow([(655, 80), (655, 170), (580, 170), (580, 192)])
    p.arrow([(325, 236), (325, 264), (580, 264), (580, 238)])
    p.text(
        360, 294, "The MAC covers the ciphertext, the IV and the page's number: a changed or moved page fails to read.", 12, "soft"
    )
    p.text(360, 314, "4,096 bytes for each page, the first with the file's 16-byte salt at its start", 12, "soft")
    return p


def key_slots(colours):
    p = Picture(720, 300, "How key slots hold the database's key", colours)
    rows = [
        ("Passphrase “laptop”", "Argon2id", "slot 1"),
        ("Passphrase “desk”", "Argon2id", "slot 2"),
        ("Recovery key “safe”", "Argon2id", "slot 3"),
    ]
    for index, (secret, derivation, slot) in enumerate(rows):
        y = 40 + index * 70
        p.box(10, y, 160, 46, secret, "key")
        p.arrow([(170, y + 23), (250, y + 23)], derivation, (210, y + 15))
        p.box(250, y, 130, 46, ["Wrapping key", "of this slot only"])
        p.arrow([(380, y + 23), (430, y + 23)])
        p.box(430, y, 100, 46, [slot, "wrapped key"], "good")
        p.arrow([(530, y + 23), (575, y + 23), (575, 133), (600, 133)] if index != 1 else [(530, y + 23), (600, y + 23)])
    p.box(600, 95, 110, 76, ["Database key", "256 random bits"], "cipher", "bold")
    p.text(480, 26, "slot file beside the database", 12, "soft")
    p.text(
        360, 275, "Any one slot opens the database. Adding or revoking a slot rewrites only the slot file and one row.", 12, "soft"
    )
    return p


def pool(colours):
    p = Picture(720, 300, "How a pool lends connections", colours)
    for index, name in enumerate(["write { }", "read { }", "read { }", "read { }"]):
        y = 20 + index * 66
        p.box(10, y, 150, 46, [name, "a thread or task"])
        target = 43 if index == 0 else y + 23
        p.arrow([(160, y + 23), (270, target)])
    p.box(270, 20, 170, 46, ["Writer", "one at a time, in order"], "key")
    for index in range(2):
        p.box(270, 86 + index * 66, 170, 46, [f"Reader {index + 1}", "its own snapshot"], "good")
    p.box(270, 218, 170, 46, ["waits for a reader", "until the timeout"])
    p.arrow([(440, 43), (530, 96)], "appends", (500, 56))
    p.arrow([(530, 128), (440, 109)])
    p.arrow([(530, 190), (440, 175)])
    p.box(530, 76, 180, 60, ["Write-ahead log", "committed changes"], "cipher")
    p.box(530, 172, 180, 60, ["Database file", "encrypted pages"], "cipher")
    p.arrow([(640, 136), (640, 172)], "checkpoint", (680, 158))
    p.text(360, 290, "Readers do not wait for the writer, and the writer does not wait for readers.", 12, "soft")
    return p


def ranking(colours):
    p = Picture(720, 250, "How search ranks documents", colours)
    p.box(10, 90, 110, 60, ["Query", "baking bread"], "key")
    p.arrow([(120, 120), (165, 120)])
    p.box(165, 90, 120, 60, ["Tokenizer", "bake · bread"])
    p.arrow([(285, 120), (330, 120)])
    p.box(330, 90, 120, 60, ["FTS5 index", "rows with words"], "cipher")
    for index, (name, detail) in enumerate([("Rare words count more", "inverse document frequency"),
                                            ("Often in short text", "term frequency, length"),
                                            ("Columns by their weight", "title 5, body 1")]):
        y = 20 + index * 72
        p.arrow([(450, 120), (490, y + 28)])
        p.box(490, y, 220, 56, [name, detail], "good")
    p.text(360, 240, "BM25 adds these up for each word. The best match has the smallest rank, and comes first.", 12, "soft")
    return p


def measured_rows():
    """The table of the article on performance: the pictures show what it says."""
    text = (ARTICLES / "Performance.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([\d.–]+) \| ([\d.–]+) \| ([\d.–]+) \|$", text, re.M)
    if len(rows) < 5:
        sys.exit("pictures: the article on performance has no table to draw")
    return rows


def chart(colours, title, unit, label, column):
    rows = [(row[0], float(row[column])) for row in measured_rows() if row[column] != "–"]
    left, top, width = 290, 78, 360
    p = Picture(720, top + len(rows) * 28 + 62, title, colours)
    p.text(20, 28, title, 17, anchor="start", weight="bold")
    p.text(20, 50, f"{unit}. Smaller is better.", 13, "soft", "start")
    longest = max(1.0, *(value for _, value in rows))
    step = 0.5 if longest > 1.5 else 0.25
    bottom = top + len(rows) * 28
    tick = 0.0
    while tick <= longest + 1e-9:
        x = left + tick / longest * width
        emphasis = abs(tick - 1) < 1e-9
        p.parts.append(f'<path d="M{x:g} {top - 6} V{bottom}" stroke="{colours["soft" if emphasis else "grid"]}" '
                       f'stroke-width="{1.5 if emphasis else 1}"/>')
        p.text(x, bottom + 16, f"{tick:g}", 12, "soft")
        tick += step
    for index, (name, value) in enumerate(rows):
        y = top + index * 28
        p.text(left - 10, y + 15, name, 13, anchor="end")
        p.parts.append(
            f'<rect x="{left}" y="{y + 2}" width="{value / longest * width:.1f}" height="18" rx="2" fill="{colours["bar"]}"/>'
        )
        p.text(left + value / longest * width + 6, y + 16, f"{value:g}", 12, "text", "start")
    p.text(left + width / 2, bottom + 40, label, 12, "soft")
    return p


PICTURES = {
    "page-encryption": page_encryption,
    "key-slots": key_slots,
    "pool-lending": pool,
    "search-ranking": ranking,
    "cost-of-encryption": lambda colours: chart(
        colours, "The cost of encryption", "Time with encryption over time without it", "× plain SQLite", 1),
    "beside-openssl": lambda colours: chart(
        colours,
        "Beside SQLCipher's provider for OpenSSL",
        "Time with this package's cryptography over time with OpenSSL's",
        "× OpenSSL",
        2,
    ),
}


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: pictures.py [--check]")
    stale = []
    for name, draw in PICTURES.items():
        for suffix, colours in (("", LIGHT), ("~dark", DARK)):
            path = FOLDER / f"{name}{suffix}.svg"
            text = draw(colours).svg()
            if path.exists() and path.read_text() == text:
                continue
            stale.append(path.name)
            if not check:
                FOLDER.mkdir(exist_ok=True)
                path.write_text(text)
    if check and stale:
        sys.exit(f"pictures: {', '.join(stale)} do not show what the scripts and the articles say; run scripts/pictures")


main()
