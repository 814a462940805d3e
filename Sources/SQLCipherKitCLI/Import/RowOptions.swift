import ArgumentParser
import Foundation
import SQLCipherKit

/// The options of `import` for CSV and JSON.
struct RowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The table for the rows. By default, each file has a table that is named after it.", valueName: "name"))
    var table: String?

    @Option(
        help: ArgumentHelp(
            "The delimiter between CSV fields: a character, or tab.", valueName: "character"))
    var delimiter: String?

    @Option(
        help: ArgumentHelp(
            "The quote around CSV fields: a character, or none if quotes are ordinary characters.", valueName: "character"))
    var quote = "\""

    @Option(help: ArgumentHelp("The number of lines to leave out at the beginning of a CSV file.", valueName: "lines"))
    var skip = 0

    @Option(
        name: .customLong("null"),
        help: ArgumentHelp(
            "Texts that stand for NULL in CSV when they are not in quotes, such as NA,n/a; may be given several times.",
            valueName: "texts"))
    var nulls: [String] = []

    @Flag(inversion: .prefixedNo, help: "Whether the first line of CSV has names. If not, columns are column1, column2 and so on.")
    var header: Bool?

    @Option(
        help: ArgumentHelp(
            "What to do with a CSV line that has more or fewer fields than the first: error, pad (missing fields are NULL, "
                + "surplus fields go into further columns) or skip (leave the line out and count it).", valueName: "what"))
    var ragged: CSVOptions.Ragged = .error

    @Option(
        help: ArgumentHelp(
            "Types of columns, such as zip=text,price=real: text, integer, real, numeric or any. Other types are detected.",
            valueName: "name=type,…"))
    var types: String?

    @Flag(name: [.customLong("text"), .customLong("keep-text")], help: "Store every CSV field as text.")
    var text = false

    @Option(help: ArgumentHelp("The columns that identify a row: the primary key of a new table.", valueName: "columns"))
    var pk: String?

    @Flag(help: "If a row with the same key exists, update it.")
    var upsert = false

    func validate() throws {
        _ = try options()
        _ = try plan()
    }

    /// The options for reading CSV.
    private func options() throws -> CSVOptions {
        CSVOptions(
            delimiter: try delimiter.map { $0 == "tab" ? 0x09 : try Self.byte($0, "--delimiter", or: "tab") },
            quote: quote == "none" ? nil : try Self.byte(quote, "--quote", or: "none"),
            hasHeader: header, ragged: ragged, keepsText: text, skip: skip,
            nulls: nulls.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map { Array($0.utf8) })
    }

    /// A file to import with these options.
    func file(_ path: String, table: String, _ kind: ImportCommand.SourceFormat, again: Bool) throws -> FileImport {
        let base = path.lowercased().hasSuffix(".gz") ? String(path.dropLast(3)) : path
        let usual: UInt8 = [".tsv", ".tab"].contains { base.lowercased().hasSuffix($0) } ? 0x09 : UInt8(ascii: ",")
        let format: FileImport.Format = switch kind {
        case .csv: .csv(try options(), usual: usual)
        case .jsonl: .json(hasLines: true)
        case .json, .text: .json(hasLines: false)
        }
        var plan = try plan()
        if kind != .csv { plan.rules = .init(keepsNumbersApart: true) }
        return try FileImport(path, table: table, format: format, plan: plan, again: again)
    }

    private static func byte(_ text: String, _ option: String, or word: String) throws -> UInt8 {
        guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80, ![0x0a, 0x0d].contains(byte),
            option == "--quote" || byte != 0x22
        else { throw ValidationError("\(option) is one ASCII character, or \(word)") }
        return byte
    }

    func plan() throws -> RowPlan {
        if skip < 0 { throw ValidationError("--skip takes a number of lines, 0 or more") }
        var plan = RowPlan(isUpsert: upsert, key: Self.list(pk))
        for part in Self.list(types) {
            guard let equals = part.lastIndex(of: "="),
                let type = ColumnType(rawValue: part[part.index(after: equals)...].lowercased())
            else {
                let names = ColumnType.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--types takes a list such as zip=text,price=real, with the types \(names)")
            }
            plan.types[String(part[..<equals]).sqlName] = type
            plan.typedNames.append(String(part[..<equals]))
        }
        return plan
    }

    static func list(_ text: String?) -> [String] {
        text.map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } } ?? []
    }
}

extension CSVOptions.Ragged: ExpressibleByArgument {}
