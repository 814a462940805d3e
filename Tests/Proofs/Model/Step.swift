import SQLCipherKit

/// A step of a program: a value that can be run, printed and made simpler.
protocol Step: Sendable, CustomStringConvertible {
    /// Runs the step in both worlds.
    /// - Throws: ``Mismatch`` if they disagree.
    func run(in world: World) throws
    /// The same step with less in it, for shrinking.
    var simpler: [any Step] { get }
}

extension Step {
    var simpler: [any Step] { [] }
}

/// A program, and where it runs.
struct Program: Sendable {
    var seed: UInt64
    var onDisk: Bool
    var key: ModelKey
    var steps: [any Step]

    var text: String {
        let place = onDisk ? ".file(\"main.db\")" : ".memory"
        return (["let db = try Connection(\(place), key: \(key))"] + steps.map { "\($0)" }).joined(separator: "\n")
    }
}

/// Indents the lines of a closure's body.
func indented(_ steps: [any Step]) -> String {
    steps.flatMap { "\($0)".split(separator: "\n", omittingEmptySubsequences: false) }.map { "    \($0)\n" }.joined()
}

/// The steps without a part of them: long parts first, then single steps.
func shorter(_ steps: [any Step]) -> [[any Step]] {
    var found: [[any Step]] = []
    var size = steps.count
    while size >= 1 {
        for start in stride(from: 0, to: steps.count, by: size) {
            found.append(Array(steps[..<start] + steps[min(start + size, steps.count)...]))
        }
        size /= 2
    }
    for (index, step) in steps.enumerated() {
        for simpler in step.simpler {
            var changed = steps
            changed[index] = simpler
            found.append(changed)
        }
    }
    return found
}
