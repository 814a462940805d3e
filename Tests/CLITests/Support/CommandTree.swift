import Foundation
import SQLCipherKit
import TestSupport

/// The tool's commands, as it tells of them itself.
struct CommandTree {
    struct Leaf {
        /// Such as `key init`.
        let name: String
        let options: [String]
        let takesKey: Bool
        /// The help's text below `JSON`.
        let json: String

        /// The keys that the help lists; nil where they depend on what is asked.
        var keys: [String]? {
            guard let colon = json.range(of: ": ") else { return nil }
            return json[colon.upperBound...].prefix { $0 != ";" }.components(separatedBy: ", where")[0].components(separatedBy: ", ")
        }
        var isArray: Bool { json.hasPrefix("An array of objects") }
    }

    let leaves: [Leaf]
    /// The statuses that the help of the tool lists.
    let statuses: [Int32]

    init() throws {
        let text = try Tool.output("--experimental-dump-help")
        guard let root = try JSONValue(text: text)["command"] else { throw CocoaError(.coderInvalidValue) }
        var leaves: [Leaf] = []
        Self.add(root, [], to: &leaves)
        self.leaves = leaves
        let lines = root["discussion"]?.text.components(separatedBy: "EXIT STATUS\n").last?.components(separatedBy: "\n\n").first ?? ""
        statuses = lines.split(separator: "\n").compactMap { Int32($0.split(separator: " ")[0]) }
    }

    private static func add(_ command: JSONValue, _ path: [String], to leaves: inout [Leaf]) {
        if case .array(let commands)? = command["subcommands"] {
            for command in commands where command["commandName"] != "help" {
                add(command, path + [command["commandName"]?.text ?? ""], to: &leaves)
            }
            return
        }
        guard case .array(let arguments)? = command["arguments"] else { return }
        let names = arguments.filter { $0["kind"] != "positional" }.compactMap { $0["preferredName"]?["name"]?.text }
        let discussion = command["discussion"]?.text ?? ""
        let json = discussion.components(separatedBy: "JSON\n").dropFirst().last?.components(separatedBy: "\n\n").first ?? ""
        leaves.append(Leaf(name: path.joined(separator: " "), options: names, takesKey: names.contains("key-file"), json: json))
    }
}

extension JSONValue {
    /// A string's text; empty for anything else.
    fileprivate var text: String { if case .string(let text) = self { text } else { "" } }
}
