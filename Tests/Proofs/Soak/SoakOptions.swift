import Foundation

/// The options of the command line.
struct SoakOptions {
    struct Problem: Error { let text: String }

    /// Something that grows on purpose, to see that it is found.
    enum Leak: String, CaseIterable { case memory, descriptors, threads, log }

    var seconds = 60.0
    var seed: UInt64 = 1
    var folder: String?
    var samples: String?
    var grow: Leak?
    /// The names of the tasks that run; empty for all. To find out which of them a finding comes from.
    var only: Set<String> = []

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Problem(text: "\(name) needs a value") }
            switch name {
            case "--minutes", "--seconds":
                guard let number = Double(value), number > 0 else { throw Problem(text: "\(name) needs a number, not \(value)") }
                seconds = name == "--minutes" ? number * 60 : number
            case "--seed":
                guard let number = UInt64(value) else { throw Problem(text: "--seed needs a number, and not \(value)") }
                seed = number
            case "--folder": folder = value
            case "--samples": samples = value
            case "--grow":
                guard let leak = Leak(rawValue: value) else { throw Problem(text: "there is no \(value) that could grow") }
                grow = leak
            case "--only": only.insert(value)
            default: throw Problem(text: "unknown argument \(name)")
            }
        }
    }
}

/// Prints a line at once: its reader may be waiting, and the process may be killed.
func say(_ text: String) {
    print(text)
    fflush(nil)
}
