"""The public interface from symbol graphs: counts, and the names that no text for users shows. See ../surface."""
import collections
import glob
import json
import os
import re
import sys

import contract

TYPES = {"struct", "class", "enum", "protocol", "typealias", "macro", "associatedtype"}
# The files from which a reader learns the interface, or that stand for a user of it.
SHOWN = ["README.md", "Sources/SQLCipherKit/Documentation.docc", "Sources/SQLCipherKitReplication/Documentation.docc",
         "Sources/SQLCipherKitSync/Documentation.docc", "Examples",
         "Sources/SQLCipherKitCLI", "Tests/Benchmarks/Sources"]
CONVENTIONAL = set("""== != < hash encode init description debugDescription customMirror makeIterator next startIndex endIndex index
                      makeAsyncIterator Iterator AsyncIterator Element rawValue hashValue id errorDescription stringLiteral intValue
                      stringValue StringInterpolation appendInterpolation appendLiteral buildArray buildBlock buildEither
                      buildExpression buildOptional wrappedValue projectedValue sqlValue""".split())
WORD = re.compile(r"\w+")
# A protocol's requirements: a reader learns the protocol. Operators are requirements only where a type is Equatable or Comparable.
WITNESSES = re.compile(
    r"(hash\(into:\)|encode\(to:\)|init\((from|row|rawValue|sqlValue|\w*[lL]iteral|stringInterpolation):\)|init\(sqlValue:in:\)"
    r"|description|debugDescription|customMirror|rawValue|sqlValue(\(in:\))?|makeAsyncIterator\(\)|startIndex|endIndex"
    r"|index\((after|before):\)|init\(literalCapacity:interpolationCount:\)|appendLiteral\(_:\)"
    r"|build(Array|Block|Either|Optional)\(.*\))")
COMPARED = {"==(_:_:)": "s:SQ", "<(_:_:)": "s:SL"}


class Symbol:
    def __init__(self, module, symbol):
        self.module = module
        # True if a type of the caller implements the requirement.
        self.is_requirement = False
        # The protocols that its type conforms to.
        self.conformances = set()
        self.kind = symbol["kind"]["identifier"].removeprefix("swift.")
        self.path = symbol["pathComponents"]
        self.declaration = "".join(f["spelling"] for f in symbol.get("declarationFragments", []))
        location = symbol.get("location", {})
        # A symbol that only names the right call, for a name of another library.
        self.is_unavailable = any(a.get("isUnconditionallyUnavailable") for a in symbol.get("availability", []))
        self.file = location.get("uri", "").split("/Sources/")[-1]
        self.line = location.get("position", {}).get("line", -1) + 1

    @property
    def name(self):
        return self.path[-1].split("(")[0]

    @property
    def owner(self):
        return ".".join(self.path[:-1])


def read(folder):
    found, requirements, members, conformances = {}, set(), {}, collections.defaultdict(set)
    for path in sorted(glob.glob(os.path.join(folder, "*.symbols.json"))):
        graph = json.load(open(path, encoding="utf-8"))
        for each in graph["symbols"]:
            if "/Sources/" in each.get("location", {}).get("uri", ""):
                found.setdefault(each["identifier"]["precise"], Symbol(graph["module"]["name"], each))
        for each in graph["relationships"]:
            if each["kind"].endswith("equirementOf"):
                requirements.add(each["source"])
            elif each["kind"] == "memberOf":
                members[each["source"]] = each["target"]
            elif each["kind"] == "conformsTo":
                conformances[each["source"]].add(each["target"])
    for name in requirements & found.keys():
        found[name].is_requirement = True
    for name in members.keys() & found.keys():
        found[name].conformances = conformances[members[name]]
    return list(found.values())


def is_witness(symbol):
    """True if the symbol is there because its type conforms to a protocol."""
    name = symbol.path[-1]
    if symbol.is_requirement or len(symbol.path) == 1:
        return False
    return COMPARED.get(name) in symbol.conformances or WITNESSES.fullmatch(name) is not None


def learnt(symbols):
    """The names that a reader learns: overloads of one name with the same labels are one, and what a protocol asks for is none."""
    return {(s.module, ".".join(s.path)) for s in symbols if not is_witness(s)}


def words_shown():
    words = set()
    for root in SHOWN:
        paths = [root] if os.path.isfile(root) else glob.glob(root + "/**/*", recursive=True)
        for path in paths:
            if path.endswith((".md", ".swift")) and ".build" not in path:
                words.update(WORD.findall(open(path, encoding="utf-8").read()))
    return words


def is_conventional(symbol):
    """A requirement of a protocol of the standard library or of a result builder: no text names it."""
    return symbol.name.startswith("_") or symbol.name in CONVENTIONAL


def main(folder, choice):
    symbols = read(folder)
    if choice == "--calls":
        for module, names in sorted(contract.calls(symbols).items()):
            for name in sorted(names):
                print(module, name, sep="\t")
        return
    if choice == "--contract":
        found = contract.check(symbols)
        print("\n".join(found))
        sys.exit(1 if found else 0)
    shown = words_shown()
    unused = collections.defaultdict(set)
    for each in symbols:
        if not is_conventional(each) and WORD.fullmatch(each.name) and each.name not in shown:
            unused[each.module].add((".".join(each.path[:-1] + [each.name]), each.file))
    if choice == "--all":
        for each in sorted(symbols, key=lambda s: (s.module, s.path)):
            print(each.module, each.kind, ".".join(each.path), f"{each.file}:{each.line}", each.declaration, sep="\t")
        return
    if choice == "--unused":
        for module, names in sorted(unused.items()):
            print(f"{module}: {len(names)}")
            for name, file in sorted(names):
                print(f"  {name}\t{file}")
        return
    print(f"{'module':26} {'symbols':>7} {'learnt':>6} {'types':>6} {'names':>6} {'unused':>6}")
    total = [0] * 5
    for module in sorted({s.module for s in symbols}):
        mine = [s for s in symbols if s.module == module]
        names = {(s.owner, s.name) for s in mine}
        row = [len(mine), len(learnt(mine)), sum(s.kind in TYPES for s in mine), len(names), len(unused[module])]
        total = [a + b for a, b in zip(total, row)]
        print(f"{module:26} {row[0]:7}" + "".join(f" {number:6}" for number in row[1:]))
    print(f"{'all':26} {total[0]:7}" + "".join(f" {number:6}" for number in total[1:]))
    members = collections.defaultdict(set)
    for each in symbols:
        if each.owner:
            members[each.owner].add(each.name)
    print("most names: " + ", ".join(f"{owner} {len(names)}" for owner, names in
                                     sorted(members.items(), key=lambda item: -len(item[1]))[:12]))


main(*sys.argv[1:3])
