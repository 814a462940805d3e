import Foundation
import SQLCipherKit
import SQLCipherKitCLI

/// An import into `a.db` of a folder. The sources lie beside the folder, because they hold text that the database must not show.
struct ImportSweep {
    /// The content of the sources: the numbers of the rows and their texts, or the names of the documents and theirs.
    typealias Records = [(name: String, text: String)]
    typealias Sources = (rows: Records, documents: Records)

    static let old = sources("old", rows: [1, 2, 3, 4, 5], documents: [1, 2, 3])
    /// Some are new, and some are gone.
    static let new = sources("changed", rows: [1, 2, 4, 5, 6, 7, 8], documents: [1, 3, 4, 5, 6])
    static let rowsPerBatch = 2

    let folder: String
    let isMirror: Bool
    private var base: String { (folder as NSString).deletingLastPathComponent }
    var path: String { folder + "/a.db" }
    /// Has the result of an undisturbed import.
    var whole: String { base + "/whole.db" }
    private var rows: String { base + "/rows.csv" }
    private var documents: String { base + "/documents" }

    /// A raw key costs no key derivation.
    static func key() throws -> DatabaseKey { try .raw([UInt8](repeating: 0x11, count: 32)) }

    private static func sources(_ word: String, rows: [Int], documents: [Int]) -> Sources {
        func records(_ numbers: [Int], _ ending: String) -> Records {
            numbers.map { ("\($0)\(ending)", "\(SweepScenario.marker) \($0) \(word) " + String(repeating: "x", count: 500)) }
        }
        return (records(rows, ""), records(documents, ".txt"))
    }

    func write(_ sources: Sources) throws {
        let csv = "number,text\n" + sources.rows.map { "\($0.name),\($0.text)\n" }.joined()
        try csv.write(toFile: rows, atomically: false, encoding: .utf8)
        try? FileManager.default.removeItem(atPath: documents)
        try FileManager.default.createDirectory(atPath: documents, withIntermediateDirectories: true)
        for (name, text) in sources.documents {
            try text.write(toFile: documents + "/" + name, atomically: false, encoding: .utf8)
        }
    }

    /// Imports the rows, and then the documents.
    func run(into path: String, returned: () -> Void = {}) throws {
        for arguments in commands(into: path) {
            try Self.tool(arguments)
            returned()
        }
    }

    private func commands(into path: String) -> [[String]] {
        let options = ["--batch", "\(Self.rowsPerBatch)", "--raw-key", "--key-env", "SWEEP_KEY"]
        return [
            ["import", path, rows, "--search", "text"] + options + (isMirror ? ["--pk", "number", "--upsert"] : []),
            ["import", path, documents] + options + (isMirror ? ["--mirror"] : []),
        ]
    }

    /// Runs the tool in this process, without its report.
    private static func tool(_ arguments: [String]) throws {
        let nothing = open("/dev/null", O_RDWR)
        defer { close(nothing) }
        let run = Invocation(
            ["sqlcipherkit"] + arguments, environment: ["SWEEP_KEY": String(repeating: "1", count: 64)], input: nothing,
            output: nothing, errors: STDERR_FILENO)
        let command = try command(arguments)
        try run { try command() }
    }

    /// The same few commands run thousands of times, and parsing takes longer than running. There is one thread.
    nonisolated(unsafe) private static var parsed: [[String]: () throws -> Void] = [:]

    private static func command(_ arguments: [String]) throws -> () throws -> Void {
        let command = try parsed[arguments] ?? SQLCipherKitCommand.parsed(arguments)
        parsed[arguments] = command
        return command
    }

    func parse() throws {
        for arguments in commands(into: path) + commands(into: whole) { _ = try Self.command(arguments) }
    }
}
