"""Makes links to the symbols and articles of another module absolute, as docc needs them. Run through scripts/docs.

In the sources ``DatabaseError`` is written in the same way in both modules, as Xcode shows it. In a symbol graph and in a copy of a
catalogue it becomes ``/SQLCipherKit/DatabaseError``, which docc resolves, and checks, in the other module's archive.
"""

import json
import re
import sys
from pathlib import Path


def names(graph):
    return {symbol["pathComponents"][0] for symbol in json.loads(graph.read_text())["symbols"]}


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: docs_links.py OTHER-GRAPH OTHER-CATALOGUE GRAPH CATALOGUE")
    otherGraph, otherCatalogue, graph, catalogue = map(Path, sys.argv[1:])
    other = otherGraph.name.split(".")[0]
    symbols = names(otherGraph) - names(graph)
    articles = {path.stem for path in otherCatalogue.glob("*.md")} - {path.stem for path in catalogue.glob("*.md")}

    def absolute(text):
        text = re.sub(
            r"``(\w+)((?:/[^`]*)?)``", lambda m: f"``/{other}/{m[1]}{m[2]}``" if m[1] in symbols else m[0], text)
        return re.sub(
            r"<doc:(\w+)>", lambda m: f"<doc://{other}/documentation/{other}/{m[1]}>" if m[1] in articles else m[0], text)

    content = json.loads(graph.read_text())
    for symbol in content["symbols"]:
        for line in symbol.get("docComment", {}).get("lines", []):
            line["text"] = absolute(line["text"])
    graph.write_text(json.dumps(content))
    for path in catalogue.glob("*.md"):
        path.write_text(absolute(path.read_text()))


main()
