"""Makes links to the symbols and articles of other modules absolute, as docc needs them. Run through scripts/docs.

In the sources ``DatabaseError`` is written in the same way in all modules, as Xcode shows it. In a symbol graph and in a copy of a
catalogue it becomes ``/SQLCipherKit/DatabaseError``, which docc resolves, and checks, in the other module's archive.
"""

import json
import re
import sys
from pathlib import Path


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: docs_links.py FOLDER MODULE…   (in FOLDER: MODULE/*.symbols.json and MODULE.docc)")
    folder, modules = Path(sys.argv[1]), sys.argv[2:]
    graphs = {module: sorted((folder / module).glob("*.symbols.json")) for module in modules}
    catalogues = {module: sorted((folder / f"{module}.docc").glob("*.md")) for module in modules}
    symbols, articles = {}, {}
    for module in modules:
        own = json.loads((folder / module / f"{module}.symbols.json").read_text())["symbols"]
        symbols[module] = {symbol["pathComponents"][0] for symbol in own}
        articles[module] = {path.stem for path in catalogues[module]}

    def owner(names, name, module):
        """The other module that has a name which `module` lacks."""
        return None if name in names[module] else next((other for other in modules if name in names[other]), None)

    def absolute(text, module):
        def symbol(match):
            other = owner(symbols, match[1], module)
            return f"``/{other}/{match[1]}{match[2]}``" if other else match[0]

        def article(match):
            other = owner(articles, match[1], module)
            return f"<doc:/{other}/{match[1]}>" if other else match[0]

        return re.sub(r"<doc:(\w+)>", article, re.sub(r"``(\w+)((?:/[^`]*)?)``", symbol, text))

    for module in modules:
        for path in graphs[module]:
            content = json.loads(path.read_text())
            for symbol in content["symbols"]:
                for line in symbol.get("docComment", {}).get("lines", []):
                    line["text"] = absolute(line["text"], module)
            # What a module adds to a type is listed under the type's module. As SQLCipherKit, it would hide that site.
            if path.name.endswith("@SQLCipherKit.symbols.json"):
                path = path.rename(path.with_name(f"{module}@SQLCipherKitCore.symbols.json"))
                for symbol in content["symbols"]:
                    symbol["swiftExtension"]["extendedModule"] = "SQLCipherKitCore"
            path.write_text(json.dumps(content))
        for path in catalogues[module]:
            path.write_text(absolute(path.read_text(), module))


main()
