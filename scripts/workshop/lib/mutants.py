"""Makes mutants of Swift source: all of them in one build, each behind a number that the environment chooses."""

import itertools
import re
from dataclasses import dataclass

# What an operator becomes, and its precedence.
OPERATORS = {
    "==": ("!=", "Comparison"), "!=": ("==", "Comparison"), "<": ("<=", "Comparison"), "<=": ("<", "Comparison"),
    ">": (">=", "Comparison"), ">=": (">", "Comparison"), "&&": ("||", "LogicalConjunction"), "||": ("&&", "LogicalDisjunction"),
    "+": ("-", "Addition"), "-": ("+", "Addition"),
}
CONSTRAINTS = {"Comparison": "Comparable", "Addition": "AdditiveArithmetic"}

# Swift's operators have no digits, so these stand for them. None of them means anything after an operator.
DIGITS = "^~%"


@dataclass(frozen=True)
class Mutant:
    number: int
    file: str
    line: int
    function: str
    was: str
    becomes: str

    def __str__(self):
        return f"{self.file}:{self.line} {self.function}: {self.was} → {self.becomes}"

    @property
    def key(self):
        """What it is called in the list of survivors: without its line, which other changes move."""
        return f"{self.file} {self.function}: {self.was} → {self.becomes}"


def blanked(text):
    """The source with spaces in place of strings, comments and code under #if, which may not be compiled here; each place stays
    where it is."""
    interpolation = r'\\\((?:[^()"]|"[^"]*"|\((?:[^()]|\([^()]*\))*\))*\)'
    strings = r'#"(?:.*?)"#|"""(?:\\.|.)*?"""|"(?:' + interpolation + r'|\\.|[^"\\\n])*"'
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|" + strings, re.S)
    lines, depth = [], 0
    for line in pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text).split("\n"):
        word = line.split()[:1]
        depth += word == ["#if"]
        lines.append(" " * len(line) if depth else line)
        depth -= word == ["#endif"]
    return "\n".join(lines)


def functions(code):
    """(start of the body, end, name, whether it returns nothing) for each function, innermost last."""
    found = []
    for match in re.finditer(r"\b(?:func\s+([\w`]+|[^\s\w(]+)|(init)[?!]?)\s*(?:<[^{}]*?>)?\s*\(", code):
        end = closing(code, match.end() - 1, "(", ")")
        if end is None:
            continue
        head = re.compile(r"[^{};]*?\{").match(code, end + 1)
        # Without a body, in a protocol, the next brace belongs to something else.
        if head is None or "func " in head.group() or "\n\n" in head.group():
            continue
        last = closing(code, head.end() - 1, "{", "}")
        if last is not None:
            is_void = match.group(2) is None and "->" not in head.group()
            found.append((head.end(), last, match.group(1) or "init", is_void))
    return found


def closing(code, start, opening, ending):
    depth = 0
    for at in range(start, len(code)):
        if code[at] == opening:
            depth += 1
        elif code[at] == ending:
            depth -= 1
            if depth == 0:
                return at
    return None


def candidates(code):
    """(place, length, kind, name of the function, its start) of everything that can be changed."""
    bodies = functions(code)

    def owner(place):
        inner = [body for body in bodies if body[0] <= place < body[1]]
        return max(inner, key=lambda body: body[0]) if inner else None

    for match in re.finditer(r"(?<=[\w)\]}?!] )(==|!=|<=|>=|<|>|&&|\|\||\+|-)(?= [\w(\[.\"!-])", code):
        if body := owner(match.start()):
            yield match.start(), len(match.group()), "operator", body
    for match in re.finditer(r"\b(?:if|guard|while) ((?:(?!\blet\b|\bvar\b|\bcase\b|#)[^{},\n])+?) (?=\{|else\b)", code):
        if (body := owner(match.start())) and "==" not in match.group():
            yield match.start(1), len(match.group(1)), "condition", body
    for match in re.finditer(r"\{ (return) \}", code):
        if (body := owner(match.start())) and "guard" not in code[code.rfind("\n", 0, match.start()):match.start()]:
            yield match.start(1), 6, "return", body
    for match in re.finditer(r"(?<![\w.$])\d[\d_]*(?![\w.])", code):
        if body := owner(match.start()):
            yield match.start(), len(match.group()), "number", body
    for body in bodies:
        if body[3]:
            yield body[0], 0, "entry", body


def changed(kind, text, number):
    """The source that takes the place of `text`, what it was and what the mutant is."""
    if kind == "operator":
        digits = "".join(DIGITS[int(d)] for d in base(number, len(DIGITS)))
        return text + digits, text, OPERATORS[text][0]
    if kind == "condition":
        return f"mutantNegated({number}, {text})", text.strip(), f"!({text.strip()})"
    if kind == "return":
        return f"if !mutantIsOn({number}) {{ return }}", "return", "nothing"
    if kind == "number":
        return f"({text} + mutantOne({number}))", text, f"{text} + 1"
    return f" if mutantIsOn({number}) {{ return }};", "the body", "nothing"


def base(number, radix):
    digits = []
    while number:
        digits.append(str(number % radix))
        number //= radix
    return digits or ["0"]


def mutated(text, file, chosen, numbers):
    """The source with mutants at the chosen places, and the mutants. A place is (place, length, kind, body)."""
    mutants, pieces, at = [], [], 0
    for place, length, kind, body in sorted(chosen):
        if place < at:
            continue
        number = next(numbers)
        source, was, becomes = changed(kind, text[place:place + length], number)
        pieces += [text[at:place], source]
        at = place + length
        mutants.append(Mutant(number, file, text.count("\n", 0, place) + 1, body[2], was, becomes))
    return "".join([*pieces, text[at:]]), mutants


def helper(mutants):
    """The Swift file that decides which mutant is on. The environment is read once."""
    lines = [
        "import Foundation", "",
        'let mutantThatIsOn = ProcessInfo.processInfo.environment["SQLCIPHERKIT_MUTANT"].flatMap { Int($0) } ?? -1',
        "func mutantIsOn(_ number: Int) -> Bool { number == mutantThatIsOn }",
        "func mutantNegated(_ number: Int, _ value: Bool) -> Bool { mutantIsOn(number) ? !value : value }",
        "func mutantOne<T: ExpressibleByIntegerLiteral>(_ number: Int) -> T { mutantIsOn(number) ? 1 : 0 }",
    ]
    for mutant in mutants:
        if mutant.was not in OPERATORS:
            continue
        other, precedence = OPERATORS[mutant.was]
        name = mutant.was + "".join(DIGITS[int(d)] for d in base(mutant.number, len(DIGITS)))
        lines.append(f"infix operator {name}: {precedence}Precedence")
        if precedence.startswith("Logical"):
            lines.append(f"func {name} (a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool {{ "
                         f"try mutantIsOn({mutant.number}) ? a {other} b() : a {mutant.was} b() }}")
        else:
            constraint = "Equatable" if mutant.was in ("==", "!=") else CONSTRAINTS[precedence]
            result = "T" if precedence == "Addition" else "Bool"
            lines.append(f"func {name} <T: {constraint}>(a: T, b: T) -> {result} {{ "
                         f"mutantIsOn({mutant.number}) ? a {other} b : a {mutant.was} b }}")
    return "\n".join(lines) + "\n"


def one_per_function(places, random):
    """At most one place in each function, which one at random."""
    by_body = {}
    for place in places:
        by_body.setdefault(place[3][0], []).append(place)
    return [random.choice(group) for _, group in sorted(by_body.items())]


def counter():
    # From one on, as zero would be no digit.
    return itertools.count(1)
