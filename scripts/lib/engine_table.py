"""Reads Sources/CSQLCipher/Engine/ENGINE.md: the names it lists, the names the fragments use, their definitions in an engine.

Run through scripts/workshop/check-engine; scripts/vendor --update uses it too."""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import patches  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "Sources" / "CSQLCipher"
TABLE = SOURCES / "Engine" / "ENGINE.md"
AMALGAMATION = ROOT / "Vendor" / "sqlcipher" / "sqlite3.c"
HEADER = ROOT / "Vendor" / "sqlcipher" / "sqlite3.h"
PATCHES = ROOT / "Vendor" / "patches"
RENAMED = "sqlcipherkit_replaced_"


def all_patches():
    return [patches.Patch(path.name, path.read_text(encoding="utf-8")) for path in sorted(PATCHES.glob("*.patch"))]


def replaced():
    """The functions that the fragments define in place of the amalgamation's."""
    return {edit.function for patch in all_patches() for edit in patch.edits if edit.is_replacement} - {"sqlcipher_memset"}


def fragments():
    """The files that are compiled after the amalgamation, in its translation unit."""
    engine = SOURCES / "Engine" / "engine.c"
    names = re.findall(r'^#include "(\w+\.h|\.\./Provider/.*)"', engine.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted((engine.parent / name).resolve() for name in names if name != "sqlite3.h")


# --- The table --------------------------------------------------------------------------------------------------------


def rows(text):
    """The name and the cell of tests of each row: a row of the table begins with one or more names in backticks."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and re.fullmatch(r"`[\w.]+`(?:, `[\w.]+`)*", cells[0]):
            found += [(name, cells[-1]) for name in re.findall(r"`([\w.]+)`", cells[0])]
    return found


def listed(text):
    return sorted({name for name, _ in rows(text)})


# --- What an amalgamation says of a name ------------------------------------------------------------------------------


def squeezed(text):
    """The text without comments and spacing, which differs only if the code does."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)).strip()


# In these sources, a body ends with a brace in the first column, or on the line on which it begins.
BODY = re.compile(r"[^\n]*\}[ \t]*$|.*?^\}", re.MULTILINE | re.DOTALL)


class Source:
    """The text of an amalgamation, by name."""

    def __init__(self, text):
        self.text = text

    def lines_with(self, word):
        """Where the lines that contain a word begin and end. Searches for fixed text, as the file has nine megabytes."""
        position, end = self.text.find(word), -1
        while position >= 0:
            if position > end:
                start, end = self.text.rfind("\n", 0, position) + 1, self.text.find("\n", position)
                if re.search(rf"\b{word}\b", self.text[start:end]):
                    yield start, end
            position = self.text.find(word, position + 1)

    def definition(self, name):
        """The text that defines a function, macro, variable or (Type.field) struct member; None without one."""
        if "." in name:
            return self.field(*name.split("."))
        found, variables = [], []
        for start, end in self.lines_with(name):
            line = self.text[start:end]
            if re.match(rf"[ \t]*#[ \t]*define[ \t]+{name}\b", line):
                found.append(re.compile(r"(?:[^\n]*\\\n)*[^\n]*").match(self.text, start).group())
            elif re.match(rf"[A-Za-z_][\w \t*]*\b{name}[ \t]*\(", line):
                head = re.compile(r"[^;{}#]*\)\s*\{").match(self.text, start)
                if head:
                    found.append(self.text[start:BODY.match(self.text, head.end()).end()])
            elif re.match(rf"(?:static|SQLITE_PRIVATE|SQLITE_WSD)\b[^(){{}};=]*\b{name}\b", line):
                variables.append(self.text[start:self.text.index(";", start)])
        found = found or variables
        return squeezed("\n".join(found)) if found else None

    def members(self, owner):
        """The text between the braces of a struct or union."""
        for start, end in self.lines_with(owner):
            line = self.text[start:end]
            head = re.match(rf"([ \t]*)(?:typedef[ \t]+)?(?:struct|union)[ \t]+{owner}[ \t]*\{{", line)
            if head:
                closing = re.compile(rf"^{head.group(1)}\}}", re.MULTILINE).search(self.text, end)
                yield self.text[start + head.end():closing.start()]
            elif re.match(rf"\}}[ \t]*{owner}[ \t]*;", line):
                # A struct without a name, which the typedef around it names.
                opening = self.text.rfind("typedef struct", 0, start)
                yield self.text[self.text.index("{", opening) + 1:start]
            else:
                alias = re.match(rf"typedef[ \t]+struct[ \t]+(\w+)[ \t]+{owner}[ \t]*;", line)
                if alias and alias.group(1) != owner:
                    yield from self.members(alias.group(1))

    def field(self, owner, name):
        for body in self.members(owner):
            plain = re.sub(r"/\*.*?\*/", " ", body, flags=re.DOTALL)
            plain = re.sub(r"^[ \t]*#.*$", "", plain, flags=re.MULTILINE)
            for declaration in re.split(r"[;{}]", plain):
                if re.search(rf"\b{name}\b(?:\[[^\]]*\])?(?:[ \t]*:[ \t]*\d+)?[ \t]*(?:,|$|\)[ \t]*\()", declaration):
                    return squeezed(declaration)
        return None


def without_sqlcipher(text):
    """An amalgamation without what SQLCipher has added: its files, and its marked sections of SQLite's."""
    for part in (r"/\*+ Begin file (sqlcipher\.c|crypto_\w+\.c) \*+/\n.*?^/\*+ End of \1 \*+/\n",
                 r"/\* BEGIN SQLCIPHER \*/.*?^/\* END SQLCIPHER \*/\n"):
        text = re.sub("^" + part, "", text, flags=re.DOTALL | re.MULTILINE)
    return text


def differences(names, before, after):
    """The number of names in the first of two amalgamations, and a line for each that is gone or changed in the second."""
    old, new = Source(before), Source(after)
    count, lines = 0, []
    for name in names:
        was, now = old.definition(name), new.definition(name)
        count += was is not None
        if was is not None and was != now:
            # The numbers of opcodes, tokens and pragmas are generated.
            is_number = re.match(r"(?:OP|TK|PragTyp)_", name) and now is not None
            lines.append(f"private symbol {'gone' if now is None else 'renumbered' if is_number else 'changed'}: {name}")
    return count, lines


def bodies(text):
    """The code of each function of an amalgamation, by name."""
    heads = re.finditer(r"^[A-Za-z_][\w \t*]*?\b(\w+)[ \t]*\([^;{}#]*\)\s*\{", text, re.MULTILINE)
    return {head[1]: squeezed(text[head.start():BODY.match(text, head.end()).end()]) for head in heads}


def changed_callees(names, known, before, after):
    """A line for each function, but those known, that one of these names calls and whose code differs in two amalgamations."""
    old, new = bodies(before), bodies(after)
    callers = {}
    for name in sorted(names):
        for callee in re.findall(r"\b(\w+)[ \t]*\(", old.get(name, "")):
            if callee in old and callee != name and old[callee] != new.get(callee):
                callers.setdefault(callee, name)
    return [f"{'changed' if callee in new else 'gone'}, called by {callers[callee]}: {callee}"
            for callee in sorted(set(callers) - set(known))]


# --- What the fragments use -------------------------------------------------------------------------------------------


def code(path):
    """A fragment without comments, strings and #include lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"^#[ \t]*include\b.*$", "", text, flags=re.MULTILINE)


def functions(text):
    """The functions that a fragment defines."""
    return set(re.findall(r"^(?!typedef\b|return\b)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}#]*\)[ \t]*\{", text, re.MULTILINE))


def syntax_trees(pattern):
    """The compiler's syntax trees of the declarations in the translation unit whose names contain the pattern."""
    # The functions that are replaced get the prefix too: clang takes one pattern, and seconds for each.
    renamed = [f"-D{name}={RENAMED}{name}" for name in sorted(replaced())]
    command = ["clang", "-std=gnu11", "-fsyntax-only", *renamed, "-Xclang", "-ast-dump=json", "-Xclang",
               f"-ast-dump-filter={pattern}", "-I", str(SOURCES / "include"), str(SOURCES / "Engine" / "engine.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"check-engine: clang failed: {done.stderr.strip()[:2000]}")
    decoder, position, trees = json.JSONDecoder(), 0, []
    while (position := done.stdout.find("{", position)) >= 0:
        tree, position = decoder.raw_decode(done.stdout, position)
        trees.append(tree)
    return trees


def nodes(tree):
    yield tree
    for child in tree.get("inner", []):
        yield from nodes(child)


def record(expression):
    """The struct that is an expression's type, or that it points to."""
    kind = expression.get("type", {})
    return re.sub(r"\b(?:const|volatile|struct|union)\b|[*\s]|\[\d*\]", "", kind.get("qualType", ""))


def is_in_macro(node):
    """True if a field is named in the text of a macro. One of the amalgamation's belongs to the macro; ours name none."""
    end = node["range"]["end"]
    return "spellingLoc" in end and not end["expansionLoc"].get("isMacroArgExpansion")


def uses_of(tree):
    """The fields (Type.field), functions and variables that a function refers to."""
    local = {node["id"] for node in nodes(tree) if node.get("kind") in ("VarDecl", "ParmVarDecl")}
    for node in nodes(tree):
        if node.get("kind") == "MemberExpr" and node.get("name") and not is_in_macro(node):
            # The members of a union inside a struct count as the struct's own.
            member = node
            while re.search(r"\((?:unnamed|anonymous)", record(member["inner"][0])) and member["inner"][0].get("name"):
                member = member["inner"][0]
            owner = record(member["inner"][0])
            if "(" not in owner:
                yield f"{owner}.{member['name']}"
        elif node.get("kind") == "DeclRefExpr":
            declaration = node["referencedDecl"]
            if declaration["kind"] in ("FunctionDecl", "VarDecl", "EnumConstantDecl") and declaration["id"] not in local:
                yield declaration["name"]


def used():
    """The names that the fragments use and only the amalgamation declares."""
    source, header = AMALGAMATION.read_text(encoding="utf-8"), HEADER.read_text(encoding="utf-8")
    engine = Source(source)
    public = set(re.findall(r"\b(?:sqlite3|SQLITE_|fts5_|Fts5|FTS5_)\w+", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
    texts = [code(path) for path in fragments()]
    own = set().union(*map(functions, texts))
    names, seen = set(), set()
    for pattern in ("sqlcipherkit_", "provider_", "word_"):
        for tree in syntax_trees(pattern):
            name = tree.get("name", "").removeprefix(RENAMED)
            if tree.get("kind") == "FunctionDecl" and name in own and any(n.get("kind") == "CompoundStmt" for n in nodes(tree)):
                seen.add(name)
                names |= set(uses_of(tree))
    # Three of opening.h are in the other engine only.
    unseen = own - seen - {"sqlite3_enable_load_extension", "sqlite3_load_extension", "sqlite3_enable_shared_cache"}
    if unseen:
        sys.exit(f"check-engine: not looked at: {', '.join(sorted(unseen))}; add a pattern for their names to used()")
    words = set(re.findall(r"\b[A-Za-z_]\w*\b", "\n".join(texts)))
    names = {name for name in names if name.rpartition(".")[2] in words}
    names |= words & set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", source, re.MULTILINE))
    # One of our macros or constants may have the same name as one of the amalgamation's, which also defines some of C's and the
    # system's where they are missing.
    ours = {word for path in [*fragments(), *SOURCES.glob("include/*.h"), *SOURCES.glob("Provider/*/*.h")]
            for word in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", code(path), re.MULTILINE)}
    ours |= {"memcpy", "double", "offsetof", "F_GETLK", "F_SETLK", "O_NOFOLLOW"}
    names = {name for name in names - own - ours
             if name.partition(".")[0] not in public and not name.startswith(("sqlcipherkit_", patches.PREFIX))}
    return sorted(name for name in names if engine.definition(name) is not None)


# --- The check --------------------------------------------------------------------------------------------------------


def tests_of_patches():
    """The names of tests in the heads of the patches."""
    for patch in all_patches():
        words = re.search(r"^Test: (.*(?:\n  .*)*)", patch.head, re.MULTILINE)[1]
        yield from (word.strip() for word in words.split(","))


def missing_tests(text):
    """Names in the last column, or in a patch, that no test has. A name is `Suite/function`, `Suite` or a file of a probe."""
    tests = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "Tests").glob("*Tests/**/*.swift")))
    gone = set()
    for name in [name for _, cell in rows(text) for name in re.findall(r"`([^`]+)`", cell)] + list(tests_of_patches()):
        suite, _, function = name.partition("/")
        if name.endswith(".c"):
            known = (ROOT / "Tests" / "ProviderProbe" / name).exists()
        else:
            # A suite is a type, and an extension may continue it, so suite and function are searched for separately.
            known = re.search(rf"\b(?:struct|class|enum|extension) {suite}\b", tests) and (
                not function or re.search(rf"\bfunc {function}\b", tests))
        if not known:
            gone.add(name)
    return sorted(gone)


def main():
    text, names = TABLE.read_text(encoding="utf-8"), used()
    problems = [f"{name} is used and not listed" for name in names if name not in listed(text)]
    problems += [f"{name} is listed and not used" for name in listed(text) if name not in names]
    problems += [f"{name} is listed more than once" for name in listed(text) if [n for n, _ in rows(text)].count(name) > 1]
    problems += [f"there is no test {name}" for name in missing_tests(text)]
    problems += [f"{name} has no test and no reason why not" for name, cell in rows(text) if not cell]
    for problem in problems:
        print(f"ENGINE.md: {problem}", file=sys.stderr)
    if not problems:
        print(f"check-engine: ENGINE.md lists exactly the {len(names)} private names that the fragments use")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
