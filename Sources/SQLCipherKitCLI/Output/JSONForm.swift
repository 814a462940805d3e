import ArgumentParser
import SQLCipherKit

/// The form of a command's output with `--json`: its help lists the keys, and a test compares them with what is printed.
struct JSONForm: CustomStringConvertible {
    /// The help of every `--json`; the manual prints it once.
    static let help: ArgumentHelp =
        "Write JSON, with the keys that the command's help lists. For commands with --format, the same as --format json."

    let keys: [String]
    private let text: String

    /// Creates the form of a single object.
    static func object(_ keys: String...) -> JSONForm { JSONForm(keys: keys, text: "One object: " + keys.joined(separator: ", ")) }

    /// An array with an object for each row.
    static func rows(_ keys: String...) -> JSONForm {
        JSONForm(keys: keys, text: "An array of objects: " + keys.joined(separator: ", "))
    }

    /// An array with an object for each row; the keys depend on the query.
    static func rows(with keys: String) -> JSONForm { JSONForm(keys: [], text: "An array of objects, with \(keys)") }

    /// An object with these values.
    func object(_ values: [JSONValue]) -> JSONValue {
        assert(keys.count == values.count)
        return .object(JSONObject(members: zip(keys, values).map { (name: $0, value: $1) }))
    }

    /// A section of a command's help.
    var description: String { "JSON\n" + text }
}

/// The option of commands that report what they have done.
struct ReportOptions: ParsableArguments {
    @Flag(help: JSONForm.help)
    var json = false

    /// Reports what was done: in sentences, or with `--json` as one object with the form's keys.
    func write(_ form: JSONForm, _ values: [JSONValue], _ sentences: String...) throws {
        if json { return Output.line(try form.object(values).line()) }
        for sentence in sentences { Output.line(sentence) }
    }
}
