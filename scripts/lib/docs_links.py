"""Makes of the articles, which read right as files, those that docc reads. Run through scripts/docs.

In the sources, an article's links are those of a code host: `[Keys](Keys.md)`, `![…](Resources/key-slots.svg)`, and a symbol is a
plain code span, `Schema.Index.Origin`. In the copy of a catalogue, links to articles become docc's, a code span that names a public
symbol of any module becomes a link to it, and under Topics a name stands for all its overloads. A link to another module is
absolute, such as ``/SQLCipherKit/DatabaseError``: docc resolves it, and checks it, in the other module's archive. So do links
that are docc's in the sources already, as in comments, which Xcode shows.
"""

import json
import re
import sys
from pathlib import Path

# A block of code, which stays as it is; a picture; a link; a code span.
PARTS = re.compile(
    r"(?P<block>^```.*?^```$)|!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)\s]+)\)|"
    r"\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<target>[^()\s]+)\)|(?<!`)`(?P<span>[^`\n]+)`(?!`)", re.M | re.S)
SYMBOL = re.compile(r"[A-Za-z_]\w*(\.\w+)*(\([\w:]*\))?")
BASE = 36
# Without it, docc calls an article with topics a collection.
ARTICLE = "\n\n@Metadata {\n    @PageKind(article)\n}\n"


def suffix(identifier):
    """The hash by which docc tells overloads apart: the FNV-1 hash of the symbol's identifier, folded to 24 bits."""
    value = 2166136261
    for byte in identifier.encode():
        value = value * 16777619 % 2**32 ^ byte
    value, digits = value >> 24 ^ value % 2**24, ""
    while value:
        value, digit = divmod(value, BASE)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def is_within(labels, name):
    """True if a function's name has these labels, in their order."""
    rest = iter(name.rstrip(")").partition("(")[2].split(":"))
    return all(label in rest for label in labels.split(":") if label)


class Module:
    def __init__(self, folder, name):
        self.name = name
        self.graphs = sorted((folder / name).glob("*.symbols.json"))
        self.pages = {path.name: path for path in sorted((folder / f"{name}.docc").glob("*.md"))}
        self.titles = {page: path.read_text().partition("\n")[0].removeprefix("# ") for page, path in self.pages.items()}
        # By its name with dots: each symbol's identifier, with docc's link to it.
        self.symbols, self.names = {}, {}

    def add(self, symbols, prefix=""):
        for symbol in symbols:
            if symbol["kind"]["identifier"] != "swift.extension":
                name = ".".join(symbol["pathComponents"])
                link = prefix + "/".join(symbol["pathComponents"])
                self.symbols.setdefault(name, {})[symbol["identifier"]["precise"]] = link
                self.names.setdefault(name.partition("(")[0], set()).add(name)

    def links(self, name):
        """docc's links to the symbols of this name. A function's may leave out its labels, or those with a default."""
        base, _, labels = name.rstrip(")").partition("(")
        others = (other for other in sorted(self.names.get(base, ())) if is_within(labels, other))
        found = self.symbols.get(name) or self.symbols.get(next(others, None), {})
        return sorted(found.values() if len(found) < 2 else (f"{link}-{suffix(one)}" for one, link in found.items()))


class Page:
    def __init__(self, module, modules, name):
        self.modules = [module, *(other for other in modules if other is not module)]
        title = module.titles[name].strip("`").rpartition("/")[2]
        # The symbol whose members the page puts in order.
        self.symbol = title if module.titles[name].startswith("`") and title != module.name else None
        self.module, self.path, self.problems = module, module.pages[name], []
        text = self.path.read_text()
        if module.titles[name].startswith("`"):
            text = f"# ``{module.name}/{title}``\n" if self.symbol else f"# ``{module.name}``\n"
            text += self.path.read_text().partition("\n")[2]
        else:
            text = text.replace("\n", ARTICLE, 1)
        self.isList = False
        prose, topics, lists = text.partition("\n## Topics\n")
        self.text = PARTS.sub(self.part, prose)
        self.isList = True
        self.text += topics + "\n".join(self.line(line) for line in lists.split("\n"))

    def line(self, line):
        name = re.fullmatch(r" *- `(.+)`", line)
        links = name and self.links(name[1])
        return "\n".join(f"- ``{link}``" for link in links) if links else PARTS.sub(self.part, line)

    def links(self, name):
        for full in ([f"{self.symbol}.{name}"] if self.symbol else []) + [name]:
            for module in self.modules:
                if links := module.links(full):
                    # An operator's link is absolute, as that of division begins with a slash itself.
                    isNear = module is self.module and links[0][0].isalpha()
                    return links if isNear else [f"/{module.name}/{link}" for link in links]
        if re.match(r"[A-Z]\w*\.\w", name) and any(module.links(name.partition(".")[0]) for module in self.modules):
            self.problems.append(f"`{name}` names no public symbol")
        return []

    def part(self, match):
        if match["picture"]:
            return f"![{match['alt']}]({Path(match['picture']).stem})"
        if match["span"]:
            links = self.links(match["span"]) if SYMBOL.fullmatch(match["span"]) else []
            return f"``{links[0]}``" if links else match[0]
        if re.match(r"\w+:|/", match["target"] or "/"):
            return match[0]
        path, _, anchor = match["target"].partition("#")
        if not path:
            return f"[{match['text']}]({self.heading(self.path, anchor) or match['target']})"
        name = path.rsplit("/", 1)[-1]
        # Under Sources/MODULE/Documentation.docc, a name without a folder is this module's.
        owner = self.module if "/" not in path else next((m for m in self.modules if f"/{m.name}/" in path), None)
        if not owner or name not in owner.pages:
            return match["text"]
        title = owner.titles[name].strip("`")
        if title == owner.name:
            return f"[{match['text']}](/documentation/{title.lower()}/)"
        if owner.titles[name].startswith("`"):
            return f"``{self.links(title)[0]}``"
        page = name.removesuffix(".md") if owner is self.module else f"/{owner.name}/{name.removesuffix('.md')}"
        isTitle = re.sub(r"\s+", " ", match["text"]) == title and not anchor
        return f"<doc:{page}>" if isTitle else f"[{match['text']}](doc:{page}{self.heading(owner.pages[name], anchor)})"

    @staticmethod
    def heading(page, anchor):
        """docc's anchor keeps the heading's capital letters."""
        for heading in re.findall(r"(?m)^#+ (.+)$", page.read_text()) if anchor else []:
            if re.sub(r"[^\w\- ]", "", heading).replace(" ", "-").lower() == anchor:
                return "#" + re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        return ""


def absolute(text, module, modules):
    """A comment with absolute links to what its own module lacks."""
    def symbol(match):
        # Xcode's links to what is added to a type begin with that type's own module.
        path = re.sub(r"^SQLCipherKit(Core|Concurrency|Records|Search|Files)/", "", match[1] + match[2])
        for other in [module, *modules]:
            links = other.links(path.replace("/", "."))
            if links or path.partition("/")[0] in other.symbols:
                # Without a hash, a link leads to the first of several overloads.
                return f"``{'' if other is module else f'/{other.name}/'}{links[0] if links else path}``"
        return match[0]

    def article(match):
        name = f"{match[1]}.md"
        other = None if name in module.pages else next((other for other in modules if name in other.pages), None)
        return f"<doc:/{other.name}/{match[1]}>" if other else match[0]

    return re.sub(r"<doc:(\w+)>", article, re.sub(r"``(\w+)((?:/[^`]*)?)``", symbol, text))


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: docs_links.py FOLDER MODULE…   (in FOLDER: MODULE/*.symbols.json and MODULE.docc)")
    modules = [Module(Path(sys.argv[1]), name) for name in sys.argv[2:]]
    graphs = [(module, path, json.loads(path.read_text())) for module in modules for path in module.graphs]
    for module, path, content in graphs:
        if "@" not in path.name:
            module.add(content["symbols"])
            continue
        # A module's additions to a type are listed under the type's module. As SQLCipherKit, it would hide that site.
        extended = path.name.removesuffix(".symbols.json").partition("@")[2]
        extended = "SQLCipherKitCore" if extended == "SQLCipherKit" else extended
        # Without symbols for extensions, docc shows none of this: what SQLCipherKit adds to Swift's own types.
        if any(symbol["kind"]["identifier"] == "swift.extension" for symbol in content["symbols"]):
            module.add(content["symbols"], f"{extended}/")
    for module, path, content in graphs:
        for symbol in content["symbols"]:
            for line in symbol.get("docComment", {}).get("lines", []):
                line["text"] = absolute(line["text"], module, modules)
        if path.name.endswith("@SQLCipherKit.symbols.json"):
            path = path.rename(path.with_name(f"{module.name}@SQLCipherKitCore.symbols.json"))
            for symbol in content["symbols"]:
                symbol["swiftExtension"]["extendedModule"] = "SQLCipherKitCore"
        path.write_text(json.dumps(content))
    problems = []
    for module in modules:
        for name, path in module.pages.items():
            page = Page(module, modules, name)
            problems += [f"{name}: {problem}" for problem in page.problems]
            path.write_text(absolute(page.text, module, modules))
    for problem in problems:
        print(f"docs: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
