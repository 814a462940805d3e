/// A regular expression, as a program that is run on a text without going back: all ways to match are followed at once, so the time
/// is at most proportional to the length of the text times that of the program (K. Thompson: Regular Expression Search Algorithm,
/// CACM 11, 1968). Its errors name a place in the pattern, and nothing of its text, which may be a bound value.
struct RegularExpression {
    /// The most bytes of a pattern, groups within groups, and instructions of a program.
    static let maximumBytes = 10_000, maximumNesting = 100, maximumInstructions = 10_000

    fileprivate enum Instruction {
        case take(CharacterTest)
        case check(Assertion)
        case split(Int, Int)
        case jump(Int)
        case end
    }

    enum Assertion { case start, end, lineStart, lineEnd, lastLineEnd, wordEdge, noWordEdge }

    private var program: [Instruction] = []
    /// The tests of which a match must pass one with its first character; nil if a match can begin in another way.
    private var firsts: [CharacterTest]?

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a pattern that is malformed, too large, or uses what only an engine
    ///   that goes back can do.
    init(_ pattern: String, ignoringCase ignoresCase: Bool = false) throws {
        guard pattern.utf8.count <= Self.maximumBytes else {
            throw DatabaseError.invalidArgument("a regular expression has more than \(Self.maximumBytes) bytes")
        }
        var parser = PatternParser(pattern, ignoresCase)
        try emit(try parser.pattern())
        try add(.end)
        firsts = findFirsts()
    }

    // MARK: Compiling

    private mutating func add(_ instruction: Instruction) throws {
        guard program.count < Self.maximumInstructions else {
            throw DatabaseError.invalidArgument(
                "a regular expression with its repetitions has more than \(Self.maximumInstructions) parts")
        }
        program.append(instruction)
    }

    private mutating func emit(_ node: PatternNode) throws {
        switch node {
        case .empty: break
        case .character(let test): try add(.take(test))
        case .assertion(let assertion): try add(.check(assertion))
        case .sequence(let parts): for part in parts { try emit(part) }
        case .either(let first, let second):
            let split = program.count
            try add(.jump(0))
            try emit(first)
            let jump = program.count
            try add(.jump(0))
            program[split] = .split(split + 1, program.count)
            try emit(second)
            program[jump] = .jump(program.count)
        case .repeated(let part, let least, let most):
            let start = program.count
            for _ in 0..<least {
                try emit(part)
                // A part without instructions has none in its copies either, of which there may be any number.
                if program.count == start { break }
            }
            guard let most else {
                let split = program.count
                try add(.jump(0))
                try emit(part)
                try add(.jump(split))
                program[split] = .split(split + 1, program.count)
                return
            }
            var splits: [Int] = []
            for _ in least..<most {
                splits.append(program.count)
                try add(.jump(0))
                try emit(part)
            }
            for split in splits { program[split] = .split(split + 1, program.count) }
        }
    }

    private func findFirsts() -> [CharacterTest]? {
        var tests: [CharacterTest] = [], seen: Set<Int> = [], stack = [0]
        while let position = stack.popLast() {
            guard seen.insert(position).inserted else { continue }
            switch program[position] {
            case .take(let test): tests.append(test)
            case .split(let first, let second): stack += [first, second]
            case .jump(let target): stack.append(target)
            case .check, .end: return nil
            }
        }
        return tests
    }

    // MARK: Matching

    /// The instructions that have been reached at a place in the text. It is kept between matches for its memory.
    struct Scratch {
        fileprivate var reached: [Int] = [], waiting: [Int] = [], stack: [Int] = []
        fileprivate var mark: [UInt] = [], generation: UInt = 0

        init() {}
    }

    /// Returns whether the expression matches the text.
    /// - Parameters:
    ///   - whole: whether all of the text has to match; else a part of it.
    ///   - step: is called with the number of steps since the last call, and throws to end the match.
    func matches(_ text: String, whole: Bool, _ scratch: inout Scratch, step: (Int) throws -> Void) throws -> Bool {
        if scratch.mark.count < program.count { scratch.mark = Array(repeating: 0, count: program.count) }
        scratch.waiting.removeAll(keepingCapacity: true)
        var index = text.startIndex, previous: Character?, steps = 0
        while true {
            if let firsts, !whole, scratch.waiting.isEmpty {
                while index < text.endIndex, !firsts.contains(where: { $0.accepts(text[index]) }) {
                    previous = text[index]
                    index = text.index(after: index)
                    steps += firsts.count
                    if steps >= 1000 { try Self.report(&steps, step) }
                }
            }
            let next = index < text.endIndex ? text[index] : nil
            let following = next == nil ? index : text.index(after: index)
            let place = Place(previous: previous, next: next, isLast: following == text.endIndex)
            if !whole || previous == nil { scratch.waiting.append(0) }
            if try follow(&scratch, place, steps: &steps), !whole || next == nil { return true }
            guard let next, !scratch.reached.isEmpty || !whole else { return false }
            for position in scratch.reached {
                steps += 1
                if case .take(let test) = program[position], test.accepts(next) { scratch.waiting.append(position + 1) }
            }
            if steps >= 1000 { try Self.report(&steps, step) }
            (previous, index) = (next, following)
        }
    }

    private static func report(_ steps: inout Int, _ step: (Int) throws -> Void) throws {
        try step(steps)
        steps = 0
    }

    private struct Place {
        let previous: Character?, next: Character?
        let isLast: Bool

        func holds(_ assertion: Assertion) -> Bool {
            switch assertion {
            case .start: previous == nil
            case .end: next == nil
            case .lineStart: previous?.isNewline ?? true
            case .lineEnd: next?.isNewline ?? true
            case .lastLineEnd: next.map { $0.isNewline && isLast } ?? true
            case .wordEdge: isInWord(previous) != isInWord(next)
            case .noWordEdge: isInWord(previous) == isInWord(next)
            }
        }

        private func isInWord(_ character: Character?) -> Bool { character.map(CharacterTest.isWord) ?? false }
    }

    /// Follows the waiting instructions to those that take a character.
    /// - Returns: whether the end was reached.
    private func follow(_ scratch: inout Scratch, _ place: Place, steps: inout Int) throws -> Bool {
        scratch.reached.removeAll(keepingCapacity: true)
        scratch.generation += 1
        var hasEnded = false
        swap(&scratch.stack, &scratch.waiting)
        scratch.waiting.removeAll(keepingCapacity: true)
        while let position = scratch.stack.popLast() {
            guard scratch.mark[position] != scratch.generation else { continue }
            scratch.mark[position] = scratch.generation
            steps += 1
            switch program[position] {
            case .take: scratch.reached.append(position)
            case .check(let assertion): if place.holds(assertion) { scratch.stack.append(position + 1) }
            case .split(let first, let second):
                scratch.stack.append(second)
                scratch.stack.append(first)
            case .jump(let target): scratch.stack.append(target)
            case .end: hasEnded = true
            }
        }
        return hasEnded
    }
}
