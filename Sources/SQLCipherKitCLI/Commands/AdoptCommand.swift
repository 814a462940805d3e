import ArgumentParser
import SQLCipherKit

struct AdoptCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Show how a database from elsewhere stores dates, UUIDs and numbers, and convert columns.",
        discussion: """
            Shows a row for each column and each form of its values, and the profile to open the database with. SQLite has no \
            types for dates and the like, and compares values wrongly if they are stored in different forms. The reason for \
            reading numbers as dates is below the table; a guess is marked as a guess.

            --convert stores all values of a column in the form of a profile. All the columns that you name are converted in one \
            transaction: if one value cannot be converted, nothing changes. The meaning of numbers as dates is then never \
            guessed: give it with --numbers.

            EXAMPLES
              sqlcipherkit adopt notes.db
              sqlcipherkit adopt notes.db --convert note.created --to standard
              sqlcipherkit adopt core.db --convert ZNOTE.ZDATE --numbers seconds-since-2001

            \(form); with --convert table, column, converted
            """)

    private static let form = JSONForm.rows("table", "column", "type", "holds", "stored_as", "values", "reason")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The number of rows to examine in each table, at its start and at its end.", valueName: "rows"))
    var sample = 10_000

    @Flag(help: "Examine all rows.")
    var all = false

    @Option(help: ArgumentHelp("Convert this column.", valueName: "table.column"))
    var convert: [String] = []

    @Option(help: ArgumentHelp(
        "The profile to convert to: \(ValueProfile.namedProfiles.map(\.name).joined(separator: ", ")).", valueName: "profile"))
    var to = "standard"

    @Option(help: ArgumentHelp(
        "The meaning of numbers as dates: \(NumberMeaning.allCases.map(\.rawValue).joined(separator: ", ")).",
        valueName: "meaning"))
    var numbers: NumberMeaning?

    /// The meaning of a number in a file as a date.
    enum NumberMeaning: String, ExpressibleByArgument, CaseIterable {
        case seconds, milliseconds, secondsSince2001 = "seconds-since-2001", julianDays = "julian-days"

        var strategy: DateStrategy {
            switch self {
            case .seconds: .realSeconds
            case .milliseconds: .milliseconds
            case .secondsSince2001: .secondsSince2001
            case .julianDays: .julianDays
            }
        }

        init?(_ form: Schema.ValueReport.Form) {
            switch form {
            case .date(.integerSeconds), .date(.realSeconds): self = .seconds
            case .date(.milliseconds): self = .milliseconds
            case .date(.secondsSince2001): self = .secondsSince2001
            case .date(.julianDays): self = .julianDays
            default: return nil
            }
        }
    }

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
            guard let found = ValueProfile.namedProfiles.first(where: { $0.name.lowercased() == to.lowercased() }) else {
                throw ValidationError(
                    "there is no profile '\(to)': \(ValueProfile.namedProfiles.map(\.name).joined(separator: ", "))"
                )
            }
            return found.profile
        }
    }

    func run() throws {
        if !convert.isEmpty { return try convertColumns() }
        let report = try file.open(.readOnly).main.valueReport(sampling: all ? nil : sample)
        let rows = report.columns.flatMap { column -> [[SQLValue]] in
            let start: [SQLValue] = [.text(column.table), .text(column.name), .text(column.type), .text(column.content.description)]
            if column.forms.isEmpty { return [start + [.null, 0, .null]] }
            return column.forms.map { form in
                let reason = NumberMeaning(form.form) == nil ? nil : column.reason
                return start + [.text(form.form.description), .integer(Int64(form.count)), reason.map(SQLValue.text) ?? .null]
            }
        }
        let isTable = output.format == nil || output.format == .table
        // Reasons are sentences, which would make the table too wide.
        try output.write(isTable ? Self.form.keys.dropLast() : Self.form.keys, isTable ? rows.map { $0.dropLast() } : rows)
        guard isTable else { return }
        for column in report.columns {
            guard let reason = column.reason, let meaning = column.meaning else { continue }
            Output.line("\(column.place.onOneLine) holds \(meaning.rawValue): \(reason)")
        }
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
            return try convert.map { name -> (column: Schema.ValueReport.Column, count: Int) in
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

    private func conversion(_ column: Schema.ValueReport.Column, _ profile: ValueProfile) throws -> Schema.ValueConversion {
        switch column.content {
        case .dates:
            if numbers == nil, let meaning = column.meaning {
                throw Failure(
                    "\(column.place) holds numbers, which may be \(meaning.rawValue) (\(column.reason ?? "a guess")): "
                        + "give their meaning with --numbers")
            }
            return .dates(profile.dates, numbers: numbers?.strategy)
        case .uuids: return .uuids(profile.uuids)
        case .numbers where numbers != nil: return .dates(profile.dates, numbers: numbers?.strategy)
        case .numbers: return .decimals(profile.decimals)
        case .booleans: return .booleans
        default:
            throw Failure("\(column.place) holds \(column.content.description), which has no form to convert to")
        }
    }
}

extension Schema.ValueReport.Column {
    fileprivate var place: String { "\(table).\(name)" }

    /// The apparent meaning of its numbers as dates; nil if they do not seem to be dates.
    fileprivate var meaning: AdoptCommand.NumberMeaning? { forms.lazy.compactMap { AdoptCommand.NumberMeaning($0.form) }.first }
}
