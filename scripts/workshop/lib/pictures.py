"""Draws the pictures of the articles, in light and in dark, as SVG. Run through scripts/workshop/pictures."""

import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ARTICLES = ROOT / "Sources" / "SQLCipherKit" / "Documentation.docc"
FOLDER = ARTICLES / "Resources"
REPLICATION = ROOT / "Sources" / "SQLCipherKitReplication" / "Documentation.docc" / "Resources"

LIGHT = {"text": "#1d1d1f", "soft": "#5f6368", "line": "#9aa0a6", "plain": "#f1f3f4", "cipher": "#dfe9f8", "key": "#fdf0d5",
         "good": "#dff0e4", "bar": "#3b6fb5", "other": "#9aa0a6", "grid": "#dadce0"}
DARK = {"text": "#f5f5f7", "soft": "#a9adb3", "line": "#80868b", "plain": "#2b2d30", "cipher": "#20344f", "key": "#4a3b16",
        "good": "#1f3d2a", "bar": "#7aa7e8", "other": "#80868b", "grid": "#3c4043"}


class Picture:
    """A picture 440 wide, which a phone shows at four fifths: its smallest letters stay readable there."""

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
            self.text(x + width / 2, top + index * 18, line, 14 if index == 0 else 13, "text" if index == 0 else "soft",
                      weight=weight if index == 0 else "normal")

    def arrow(self, points, label=None, at=None, dashed=False):
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{self.colours["soft"]}" stroke-width="1.5"{dash} '
                          'marker-end="url(#head)"/>')
        if label:
            self.text(*at, label, 13, "soft")

    def caption(self, y, *lines):
        for index, line in enumerate(lines):
            self.text(self.width / 2, y + index * 20, line, 13, "soft")

    def svg(self):
        head = (f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
                f'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="{self.colours["soft"]}"/></marker></defs>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" role="img">'
                f'<title>{escape(self.title)}</title>{head}{"".join(self.parts)}</svg>\n')


def page_encryption(colours):
    p = Picture(440, 440, "How a page is encrypted", colours)
    p.box(10, 10, 130, 54, ["Passphrase", "and the file's salt"], "key")
    p.arrow([(140, 37), (185, 37)])
    p.box(185, 10, 245, 54, ["PBKDF2-HMAC-SHA512", "256,000 rounds"])
    p.arrow([(237, 64), (237, 96)])
    p.box(185, 96, 105, 54, ["AES key", "32 bytes"], "key")
    p.arrow([(290, 123), (325, 123)])
    p.box(325, 96, 105, 54, ["HMAC key", "32 bytes"], "key")
    p.text(10, 178, "In memory", 13, "soft", "start")
    p.box(10, 188, 280, 44, "Page: rows, indexes, text")
    p.arrow([(237, 150), (237, 188)])
    p.arrow([(100, 232), (100, 288)])
    p.text(112, 254, "AES-256-CBC,", 13, "soft", "start")
    p.text(112, 271, "a new IV for each write", 13, "soft", "start")
    p.text(10, 271, "In the file", 13, "soft", "start")
    p.box(10, 288, 190, 54, ["Ciphertext", "4,016 bytes"], "cipher")
    p.box(200, 288, 90, 54, ["IV", "16 bytes"], "cipher")
    p.box(290, 288, 140, 54, ["HMAC-SHA512", "64 bytes"], "good")
    p.arrow([(378, 150), (378, 288)])
    p.arrow([(145, 342), (145, 362), (360, 362), (360, 342)])
    p.caption(
        386, "The MAC covers the ciphertext, the IV and the page's number:", "a changed or moved page fails to read. A page has",
        "4,096 bytes; the first begins with the file's 16-byte salt.")
    return p


def key_slots(colours):
    p = Picture(440, 300, "How key slots hold the database's key", colours)
    p.text(236, 20, "slot file beside the database", 13, "soft")
    for index, (secret, kind) in enumerate([("“laptop”", "passphrase"), ("“desk”", "passphrase"), ("“safe”", "recovery key")]):
        y = 34 + index * 68
        p.box(10, y, 110, 52, [secret, kind], "key")
        p.arrow([(120, y + 26), (188, y + 26)], "Argon2id", (153, y + 18))
        p.box(188, y, 95, 52, [f"slot {index + 1}", "wrapped key"], "good")
        p.arrow([(283, y + 26), (367, y + 26), (367, 86 if index == 0 else 170)] if index != 1 else [(283, y + 26), (302, y + 26)])
    p.box(302, 88, 130, 80, ["Database key", "256 random bits"], "cipher", "bold")
    p.caption(
        258, "Argon2id makes the wrapping key of one slot from its secret.",
        "Any one slot opens the database. Adding or revoking a slot", "rewrites only the slot file and one row.")
    return p


def pool(colours):
    p = Picture(440, 340, "How a pool lends connections", colours)
    for index, name in enumerate(["write { }", "read { }", "read { }", "read { }"]):
        y = 10 + index * 66
        p.box(10, y, 110, 50, [name, "thread or task"])
        p.arrow([(120, y + 25), (155, y + 25)])
    p.box(155, 10, 125, 50, ["Writer", "one at a time"], "key")
    for index in range(2):
        p.box(155, 76 + index * 66, 125, 50, [f"Reader {index + 1}", "its own snapshot"], "good")
    p.box(155, 208, 125, 50, ["Waits", "for a free reader"])
    p.box(310, 60, 120, 56, ["Write-ahead log", "recent commits"], "cipher")
    p.box(310, 152, 120, 56, ["Database file", "encrypted"], "cipher")
    p.arrow([(280, 35), (370, 35), (370, 60)], "appends", (325, 28))
    p.arrow([(310, 95), (280, 101)])
    p.arrow([(310, 175), (280, 167)])
    p.arrow([(370, 116), (370, 152)], "checkpoint", (330, 138))
    p.caption(286, "Readers do not wait for the writer,", "and the writer does not wait for readers.")
    return p


def ranking(colours):
    p = Picture(440, 372, "How search ranks rows", colours)
    p.box(10, 10, 115, 54, ["Typed", "quikc jumped fo"], "key")
    p.arrow([(125, 37), (155, 37)])
    p.box(155, 10, 135, 54, ["Index's words", "quick, jumps, fox …"])
    p.arrow([(290, 37), (320, 37)])
    p.box(320, 10, 110, 54, ["Index's rows", "that have them"], "cipher")
    p.arrow([(375, 64), (375, 92)])
    rules = [("1. Words", "all before all but one"), ("2. Field", "a title that is the text"),
             ("3. Place", "side by side in the title"), ("4. Exactness", "as typed, forms, longer"),
             ("5. Relevance", "rare words, short texts"), ("Equal rows", "the newest first")]
    for index, rule in enumerate(rules):
        column, row = index % 2, index // 2
        p.box(10 + column * 220, 92 + row * 78, 200, 54, list(rule), "good")
        y = 92 + row * 78 + 27
        if column == 0:
            p.arrow([(210, y), (230, y)])
        elif row < 2:
            p.arrow([(330, y + 27), (330, y + 39), (110, y + 39), (110, y + 51)])
    p.caption(334, "A rule decides between rows that are equal", "by all rules before it.")
    return p


def replication(colours):
    p = Picture(440, 428, "How a database is replicated, restored and followed", colours)
    p.text(10, 20, "The machine with the database", 13, "soft", "start")
    p.box(10, 32, 110, 54, ["Program", "reads, commits"])
    p.arrow([(120, 59), (160, 59)])
    p.box(160, 32, 130, 54, ["Write-ahead log", "encrypted"], "cipher")
    p.arrow([(290, 59), (320, 59)])
    p.box(320, 32, 110, 54, ["Database file", "encrypted"], "cipher")
    p.arrow([(225, 86), (225, 122)], "commits", (195, 109))
    p.arrow([(375, 86), (375, 149), (290, 149)], "snapshots", (335, 142))
    p.box(160, 122, 130, 54, ["Replica", "decrypts nothing"], "good")
    p.arrow([(225, 176), (225, 222)], "seals", (205, 204))
    p.box(85, 222, 270, 54, ["Store: a folder or a bucket", "ciphertext, and never a key"], "cipher")
    p.arrow([(150, 276), (150, 322)])
    p.arrow([(305, 276), (305, 322)])
    p.box(65, 322, 160, 54, ["Restore", "any commit, verified"], "good")
    p.box(240, 322, 160, 54, ["Follower", "a copy for reading"], "good")
    p.caption(
        400, "Pages are stored as they are encrypted in the database.", "Restores and followers run on any machine with the key.")
    return p


def replica_objects(colours):
    p = Picture(440, 336, "The objects of a section", colours)
    p.text(10, 20, "Snapshots", 13, "soft", "start")
    p.box(10, 28, 96, 40, "Snapshot", "good")
    p.box(262, 28, 96, 40, "Snapshot", "good")
    p.text(10, 92, "Log", 13, "soft", "start")
    for index in range(4):
        p.box(10 + index * 87, 100, 83, 40, "24 links", "cipher")
    for index in range(5):
        p.box(358 + index * 15, 100, 12, 40, "", "cipher")
    p.text(393, 158, "Links", 13, "soft")
    p.arrow([(10, 166), (340, 166)])
    p.text(172, 184, "one chain, in order", 13, "soft")
    p.box(10, 200, 170, 40, "Page of the index", "key")
    p.arrow([(262, 258), (180, 232)])
    p.box(262, 220, 168, 54, ["Head", "the only one replaced"], "key")
    p.caption(
        298, "Pages of the index name the older objects, the head the newer ones.",
        "What was stored since the head are the links after it.")
    return p


def measured_rows():
    """The table of the article on performance, which the charts show."""
    text = (ARTICLES / "Performance.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([\d.–]+) \| ([\d.–]+) \| ([\d.–]+) \|$", text, re.M)
    if len(rows) < 5:
        sys.exit("pictures: the article on performance has no table to draw")
    return rows


def chart(colours, title, unit, label, column):
    rows = [(row[0], float(row[column])) for row in measured_rows() if row[column] != "–"]
    left, top, width, height = 10, 80, 380, 42
    p = Picture(440, top + len(rows) * height + 52, title, colours)
    p.text(left, 24, title, 16, anchor="start", weight="bold")
    p.text(left, 46, f"{unit}.", 13, "soft", "start")
    p.text(left, 66, "Smaller is better.", 13, "soft", "start")
    longest = max(1.0, *(value for _, value in rows))
    step = 0.5 if longest > 1.5 else 0.25
    bottom = top + len(rows) * height
    tick = 0.0
    while tick <= longest + 1e-9:
        x = left + tick / longest * width
        emphasis = abs(tick - 1) < 1e-9
        # The lines of the scale leave out the names, which stand above the bars.
        path = "".join(f"M{x:g} {top + index * height + 22} v{20 if index + 1 < len(rows) else 22}" for index in range(len(rows)))
        p.parts.append(f'<path d="{path}" stroke="{colours["soft" if emphasis else "grid"]}" '
                       f'stroke-width="{1.5 if emphasis else 1}"/>')
        p.text(x, bottom + 18, f"{tick:g}", 13, "soft")
        tick += step
    for index, (name, value) in enumerate(rows):
        y = top + index * height
        length = value / longest * width
        p.text(left, y + 16, name, 13, anchor="start")
        p.parts.append(f'<rect x="{left}" y="{y + 22}" width="{length:.1f}" height="14" rx="2" fill="{colours["bar"]}"/>')
        p.text(left + length + 6, y + 34, f"{value:g}", 13, "text", "start")
    p.text(left + width / 2, bottom + 40, label, 13, "soft")
    return p


def disk(colours):
    """The table of the article on performance whose figures are absolute, as bars for each row; None as long as it has none."""
    text = (ARTICLES / "Performance.md").read_text()
    found = re.search(r"\n\| a second \|(.*)\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text)
    if not found:
        return None
    variants = [name.strip() for name in found[1].split("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[2].splitlines()]
    fills = ["grid", "other", "soft", "bar"]
    left, top, width, bar = 10, 128, 290, 16
    height = 30 + len(variants) * bar + 10
    p = Picture(440, top + len(rows) * height, "What gets done in a second, on a disk", colours)
    p.text(left, 24, "In a second, on a disk", 16, anchor="start", weight="bold")
    p.text(left, 46, "More is better.", 13, "soft", "start")
    for index, (name, fill) in enumerate(zip(variants, fills, strict=True)):
        x, y = left + index % 2 * 200, 60 + index // 2 * 22
        p.parts.append(f'<rect x="{x}" y="{y}" width="14" height="14" rx="2" fill="{colours[fill]}"/>')
        p.text(x + 20, y + 12, name, 13, anchor="start")
    for index, (what, *cells) in enumerate(rows):
        y = top + index * height
        values = [float(re.match(r"[\d.,]+", cell)[0].replace(",", "")) for cell in cells]
        p.text(left, y + 14, what, 13, anchor="start")
        for number, (cell, value, fill) in enumerate(zip(cells, values, fills, strict=True)):
            length, line = value / max(values) * width, y + 22 + number * bar
            p.parts.append(f'<rect x="{left}" y="{line}" width="{length:.1f}" height="{bar - 3}" rx="2" fill="{colours[fill]}"/>')
            p.text(left + length + 6, line + 11, cell, 12, "text", "start")
    return p


PICTURES = {
    "page-encryption": page_encryption,
    "key-slots": key_slots,
    "pool-lending": pool,
    "search-ranking": ranking,
    "replication": replication,
    "replica-objects": replica_objects,
    "on-a-disk": disk,
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


# The pictures of the other module.
ELSEWHERE = {"replication": REPLICATION, "replica-objects": REPLICATION}


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: pictures.py [--check]")
    stale = []
    for name, draw in PICTURES.items():
        for suffix, colours in (("", LIGHT), ("~dark", DARK)):
            path = ELSEWHERE.get(name, FOLDER) / f"{name}{suffix}.svg"
            picture = draw(colours)
            if picture is None:
                continue
            text = picture.svg()
            if path.exists() and path.read_text() == text:
                continue
            stale.append(path.name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    if check and stale:
        sys.exit(f"pictures: {', '.join(stale)} differ from what the scripts and the articles say; run scripts/workshop/pictures")


if __name__ == "__main__":
    main()
