import ArgumentParser
import Foundation
import SQLCipherKit

/// The options of `import` for CSV and JSON.
struct RowOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The table for rows. By default it is named like the file; several files make several.", valueName: "name"))
    var table: String?

    @Option(help: ArgumentHelp("What stands between CSV fields: a character or tab.", valueName: "character"))
    var delimiter: String?

    @Option(help: ArgumentHelp("What stands around CSV fields: a character or none.", valueName: "character"))
    var quote: String?

    @Option(help: "What the characters are in.")
    var encoding: TextEncoding?

    @Flag(inversion: .prefixedNo, help: "Whether the first line of CSV has names. If not, columns are column1, column2 and so on.")
    var header: Bool?

    @Option(
        help: ArgumentHelp(
            "A CSV line with another number of fields than the first: error, pad (NULL where fields are missing, further columns "
                + "for those that are too many) or skip (left out and counted).", valueName: "what"))
    var ragged: CSVOptions.Ragged = .error

    @Option(
        help: ArgumentHelp(
            "Types of columns, such as zip=text,price=real: text, integer, real, numeric or any. The others are found out.",
            valueName: "name=type,…"))
    var types: String?

    @Flag(name: [.customLong("text"), .customLong("keep-text")], help: "Keep every CSV field as the text that it is.")
    var text = false

    @Option(help: ArgumentHelp("The columns that tell rows apart: the primary key of a table to be made.", valueName: "columns"))
    var pk: String?

    @Flag(help: "A row whose key is there already changes that row.")
    var upsert = false

    @Flag(help: "A row whose key is there already takes its place; columns that the input lacks get their defaults.")
    var replace = false

    @Flag(
        help: """
            Like --upsert, and what is not in the input is removed: rows of the table, or documents whose files are gone.
            """)
    var mirror = false

    func validate() throws {
        _ = try options(for: "")
        _ = try plan()
        if [upsert, replace, mirror].count(where: { $0 }) > 1 {
            throw ValidationError("only one of --upsert, --replace and --mirror is possible")
        }
    }

    /// How a file of that name is read.
    func options(for name: String) throws -> CSVOptions {
        CSVOptions(
            delimiter: try delimiter.map { try Self.byte($0, "--delimiter", word: "tab", 0x09) },
            quote: try quote.map { $0 == "none" ? .none : .byte(try Self.byte($0, "--quote", word: "none", 0)) },
            hasHeader: header, ragged: ragged, keepsText: text)
    }

    private static func byte(_ text: String, _ option: String, word: String, _ meaning: UInt8) throws -> UInt8 {
        if text == word { return meaning }
        guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80, ![0x0a, 0x0d].contains(byte),
            option == "--quote" || byte != 0x22
        else { throw ValidationError("\(option) is one ASCII character, or \(word)") }
        return byte
    }

    func plan() throws -> RowPlan {
        var plan = RowPlan(mode: mirror ? .mirror : replace ? .replace : upsert ? .upsert : .insert, key: Self.list(pk))
        for part in Self.list(types) {
            guard let equals = part.lastIndex(of: "="),
                let type = ColumnType(rawValue: part[part.index(after: equals)...].lowercased())
            else {
                let names = ColumnType.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--types is a list such as zip=text,price=real, of \(names)")
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

/// The files that a pattern such as `data/*.csv` stands for, where the user's shell has not found them.
enum FilePattern {
    static func files(_ pattern: String) throws -> [String] {
        guard pattern.contains(where: { "*?[".contains($0) }), access(pattern, F_OK) != 0 else { return [pattern] }
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, GLOB_MARK, nil, &found) == 0, let paths = found.gl_pathv else {
            throw Failure("no file is named like \(pattern)")
        }
        return (0..<Int(found.gl_pathc)).compactMap { paths[$0].map { String(cString: $0) } }
    }
}
