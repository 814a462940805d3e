"""Checks what docc does not. Run through scripts/docs.

Public symbols have comments and are listed under topics, and an article is at most two clicks away from its module's page.
"""

import json
import sys
from pathlib import Path

# A type with more members than this needs its own groups; for smaller types, docc's groups by kind are enough.
MEMBERS = 60
# Symbols whose name says enough: cases of an enumeration that has a comment, operators, and a type to which another module adds.
NAMED = {"swift.enum.case", "swift.extension", "swift.func.op"}


def uncurated(site):
    data = site / "data" / "documentation"
    for path in sorted(data.rglob("*.json")):
        page = json.loads(path.read_text())
        if page.get("kind") != "symbol":
            continue
        generated = [s for s in page.get("topicSections", []) if s.get("generated")]
        count = sum(not i.endswith("-Implementations") for s in generated for i in s["identifiers"])
        name = page["metadata"]["title"]
        kind = page["metadata"].get("symbolKind")
        if kind == "module" and count or count > MEMBERS:
            members = [i.rsplit("/", 1)[1] for s in generated for i in s["identifiers"]]
            yield f"{name} has {count} symbols that are listed under no topic: {', '.join(members)}"


def undocumented(graphs):
    for path in sorted(graphs.glob("*.symbols.json")):
        graph = json.loads(path.read_text())
        # A symbol that implements a documented one has the comment of that.
        inherited = {r["source"] for r in graph["relationships"] if r["kind"] in ("defaultImplementationOf", "overrides")}
        inherited |= {r["source"] for r in graph["relationships"] if r.get("sourceOrigin")}
        name = lambda symbol: tuple(part.split("(")[0] for part in symbol["pathComponents"])
        # The comment of one overload explains all overloads.
        explained = {name(s) for s in graph["symbols"] if "docComment" in s}
        for symbol in graph["symbols"]:
            if "docComment" in symbol or symbol["identifier"]["precise"] in inherited or symbol["kind"]["identifier"] in NAMED:
                continue
            path = ".".join(symbol["pathComponents"])
            if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or path.endswith(".init()") or name(symbol) in explained:
                continue
            # The compiler calls these, for the closures of a result builder.
            if symbol["kind"]["identifier"] == "swift.type.method" and symbol["pathComponents"][-1].startswith("build"):
                continue
            yield f"{path} has no comment"


def distant(site):
    """The articles that are not listed on their module's page, or on an article that it lists."""
    for home in sorted((site / "data" / "documentation").glob("*.json")):
        def listed(page):
            content = json.loads((site / "data" / f"{page}.json").read_text())
            groups = [i for section in content.get("topicSections", []) for i in section["identifiers"]]
            links = [content["references"][i] for i in groups if i in content["references"]]
            return {link["url"].strip("/") for link in links if link.get("role") in ("article", "collectionGroup")}

        near = listed(f"documentation/{home.stem}")
        near |= {page for article in near for page in listed(article)}
        for path in sorted((site / "data" / "documentation" / home.stem).glob("*.json")):
            page = json.loads(path.read_text())
            if page.get("kind") == "article" and f"documentation/{home.stem}/{path.stem}" not in near:
                yield f"the article {page['metadata']['title']} is more than two clicks away from {home.stem}'s page"


if len(sys.argv) < 3:
    sys.exit("usage: check_docs.py SITE GRAPHS…")
problems = [problem for folder in sys.argv[2:] for problem in undocumented(Path(folder))] + [
    *uncurated(Path(sys.argv[1])), *distant(Path(sys.argv[1])),
]
for problem in problems:
    print(f"docs: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
