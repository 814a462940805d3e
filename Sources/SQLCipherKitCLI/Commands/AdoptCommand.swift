import ArgumentParser
import SQLCipherKit

struct AdoptCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Show how a database from elsewhere stores dates, UUIDs and numbers, and convert columns.",
        discussion: """
            Shows a row for each column and each form of its values, and the profile to open the database with. SQLite has no \
            types for dates and the like, and compares values wrongly if they are stored in different forms. What a number means \
            is guessed from the values beside it and from names.

            --convert stores all values of a column in the form of a profile. All the columns that you name are converted in one \
            transaction: if one value cannot be converted, nothing changes.

            EXAMPLES
              sqlcipherkit adopt notes.db
              sqlcipherkit adopt notes.db --convert note.created --to standard

            \(form); with --convert table, column, converted
            """)

    private static let form = JSONForm.rows("table", "column", "type", "holds", "stored_as", "values")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("How many rows of each table to look at, at its start and at its end.", valueName: "rows"))
    var sample = 10_000

    @Flag(help: "Look at all rows.")
    var all = false

    @Option(help: ArgumentHelp("Convert this column.", valueName: "table.column"))
    var convert: [String] = []

    @Option(help: ArgumentHelp(
        "The profile to convert to: \(ValueProfile.named.map(\.name).joined(separator: ", ")).", valueName: "profile"))
    var to = "standard"

    @Flag(help: "Allow dates to lose fractions of a second that the new form cannot hold.")
    var round = false

    func validate() throws {
        _ = try profile
        if sample < 1 { throw ValidationError("--sample takes a number of rows, 1 or more") }
        if convert.contains(where: { !$0.contains(".") }) {
            throw ValidationError("--convert takes a table and a column, such as note.created")
        }
    }

    private var profile: ValueProfile {
        get throws {
            guard let found = ValueProfile.named.first(where: { $0.name.lowercased() == to.lowercased() }) else {
                throw ValidationError("there is no profile '\(to)': \(ValueProfile.named.map(\.name).joined(separator: ", "))")
            }
            return found.profile
        }
    }

    func run() throws {
        if !convert.isEmpty { return try convertColumns() }
        let report = try file.open(.readOnly).main.valueReport(sampling: all ? nil : sample)
        let rows = report.columns.flatMap { column -> [[SQLValue]] in
            let start: [SQLValue] = [.text(column.table), .text(column.name), .text(column.type), .text(column.content.rawValue)]
            if column.forms.isEmpty { return [start + [.null, 0]] }
            return column.forms.map { start + [.text($0.form.description), .integer(Int64($0.count))] }
        }
        try output.write(Self.form.keys, rows)
        guard output.format == nil || output.format == .table else { return }
        for column in report.mixedColumns {
            Output.line("\(column.place.onOneLine) mixes forms that SQL compares wrongly: --convert stores all values in one")
        }
        let names = report.profileNames
        Output.line(
            names.isEmpty
                ? "no profile has these forms: convert the columns that differ"
                : "open it with the profile \(names.joined(separator: " or "))")
    }

    private func convertColumns() throws {
        let profile = try profile
        let db = try file.open(.readWrite)
        let report = try db.main.valueReport(sampling: all ? nil : sample)
        let changes = try db.transaction { db in
            // A key and the columns that refer to it are converted one after the other.
            try db.execute("PRAGMA defer_foreign_keys = ON")
            return try convert.map { name -> (column: ValueReport.Column, count: Int) in
                let dot = name.lastIndex(of: ".") ?? name.endIndex
                guard let column = report[String(name[..<dot]), String(name[dot...].dropFirst())] else {
                    throw Failure("there is no column \(name)")
                }
                let count = try db.main.convertValues(
                    of: column.name, in: column.table, to: try conversion(column, profile), allowingRounding: round)
                return (column, count)
            }
        }
        guard output.format == nil else {
            let rows = changes.map { change -> [SQLValue] in
                [.text(change.column.table), .text(change.column.name), .integer(Int64(change.count))]
            }
            return try output.write(["table", "column", "converted"], rows)
        }
        for (column, count) in changes { Output.line("\(column.place.onOneLine): \(count.counted("value")) converted") }
    }

    private func conversion(_ column: ValueReport.Column, _ profile: ValueProfile) throws -> ValueConversion {
        switch column.content {
        case .dates: return .dates(profile.dates)
        case .uuids: return .uuids(profile.uuids)
        case .numbers: return .decimals(profile.decimals)
        case .booleans: return .booleans
        case .text, .bytes, .anything, .nothing:
            throw Failure("\(column.place) holds \(column.content.rawValue), which has no form to convert to")
        }
    }
}

extension ValueReport.Column {
    fileprivate var place: String { "\(table).\(name)" }
}
