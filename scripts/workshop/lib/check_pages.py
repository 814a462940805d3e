"""Reads the pages as a code host shows them, and follows their links. Run through check-pages."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[3]


class Rendered(HTMLParser):
    """A page: its links, its pictures and the anchors of its headings."""

    def __init__(self, path):
        super().__init__()
        self.links, self.pictures, self.anchors, self.heading = [], [], set(), None
        command = ["cmark-gfm", "--unsafe", "--extension", "table", "--extension", "strikethrough", str(path)]
        self.feed(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "a":
            self.links.append(values.get("href", ""))
            self.anchors |= {values[name] for name in ("id", "name") if name in values}
        elif tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt", "")))
        elif tag == "source":
            self.pictures.append((values.get("srcset", ""), "dark"))
        elif re.fullmatch(r"h\d", tag):
            self.heading = ""

    def handle_data(self, data):
        if self.heading is not None:
            self.heading += data

    def handle_endtag(self, tag):
        if re.fullmatch(r"h\d", tag):
            anchor = re.sub(r"[^\w\- ]", "", self.heading.strip().lower()).replace(" ", "-")
            numbered = (f"{anchor}-{number}" for number in range(1, 1000))
            self.anchors.add(anchor if anchor not in self.anchors else next(a for a in numbered if a not in self.anchors))
            self.heading = None


def problems():
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           capture_output=True, check=True, text=True).stdout.split("\0")
    files = {ROOT / name for name in names if name and (ROOT / name).exists()}
    folders = {parent for path in files for parent in path.parents}
    pages = {path: Rendered(path) for path in sorted(files) if path.suffix == ".md"}
    for path, page in pages.items():
        name = path.relative_to(ROOT)
        for link in page.links + [address for address, _ in page.pictures]:
            if re.match(r"https?://|mailto:", link):
                continue
            place, _, anchor = unquote(link).partition("#")
            target = (path.parent / place).resolve() if place else path
            if re.match(r"\w+:|/", place) or target not in files | folders:
                yield f"{name}: there is no file {link}"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{name}: {place or 'this page'} has no heading with the anchor {anchor}"
        yield from (f"{name}: the picture {address} has no text for readers who do not see it"
                    for address, text in page.pictures if not text)
        # Only docc reads these, and shows them as links; elsewhere they are code with an address in it.
        if path.parent.suffix == ".docc" and "``" in re.sub(r"(?ms)^ *```.*?^ *```$", "", path.read_text()):
            yield f"{name}: has a link of docc's, between two backticks; write `Schema.Index`, which scripts/docs makes one"


def main():
    try:
        found = list(problems())
    except FileNotFoundError as error:
        print(f"check-pages: skipped, {error.filename} is not installed (apt-get install cmark-gfm)", file=sys.stderr)
        sys.exit(77)
    for problem in found:
        print(f"check-pages: {problem}", file=sys.stderr)
    sys.exit(1 if found else 0)


main()
