import ArgumentParser
import SQLCipherKit

struct VerifyCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every page, the structure and the foreign keys of a database.",
        discussion: """
            Reads the whole file. Every changed bit is found; an older version of the whole file is not \
            recognized as such. CHECK constraints are not tried, because SQLite does that only in a file that it may write. The \
            status is 4 if there are problems, which are shown; missing page authentication is a \
            problem. It is 6 if no problem was found, but tables need a collation, a function, a tokenizer or a \
            module of another program: then their pages are checked, but not the order of their indexes.

            EXAMPLES
              sqlcipherkit verify notes.db
              sqlcipherkit verify notes.db --json

            \(form)
            """)

    private static let form = JSONForm.rows("database", "problem")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Key") var settings: SettingsSearch
    @OptionGroup var output: OutputOptions
    @Flag(help: "Skip the comparison of indexes with their tables.")
    var quick = false

    func run() throws {
        let db: Connection
        do { db = try file.open(.readOnly) } catch let error as DatabaseError where .corrupt ~= error.code {
            // A file that is too damaged to open is reported in the same form.
            try output.write(Self.form.keys, [[.text("main"), .text(error.message)]])
            throw Self.damage(1)
        }
        let report = try db.main.verify(quick: quick, limits: .ofTheTool(for: file.path)), problems = report.problems
        for part in report.unchecked { Output.error("could not check main.\(part.name): \(part.reason)".onOneLine) }
        if !report.isAuthenticated, !problems.contains(.noAuthentication) {
            Output.error("\(file.path.onOneLine): its pages have no authentication codes, so changes to them may go unnoticed")
        }
        let rows = problems.map { [SQLValue.text("main"), .text($0.sentence)] }
        if output.format != nil || !rows.isEmpty { try output.write(Self.form.keys, rows) }
        guard rows.isEmpty else { throw Self.damage(rows.count, problems.allSatisfy(\.isReference)) }
        guard report.unchecked.isEmpty else {
            throw Failure(
                "no problem found, but \(report.unchecked.count.counted("table")) could not be checked, which only the program "
                    + "that made the database can do", status: .unchecked)
        }
        if output.format == nil { Output.line("no problems: \(report.pageCount.counted("page")) checked") }
    }

    private static func damage(_ problems: Int, _ isOnlyReferences: Bool = false) -> Failure {
        let advice = isOnlyReferences ? "the file is whole: delete these rows, or insert the rows that they refer to"
            : "restore a backup, or save the readable rows with sqlcipherkit recover"
        return Failure("\(problems.counted("problem")) found: \(advice)", status: .different)
    }
}

extension Schema.IntegrityReport.Problem {
    /// True for a problem of the rows, and not of the file.
    var isReference: Bool { if case .foreignKey = self { true } else { false } }

    var sentence: String {
        switch self {
        case .damagedPage(let number): "page \(number) is damaged, or was written with another key"
        case .noAuthentication: "authentication is missing: changes to the pages go unnoticed"
        case .damagedHeader: "the header is damaged: the key will not open the file again"
        case .missingPages(let declared, let present): "\(declared - present) of \(declared) pages are missing"
        case .incompletePage(let number, let bytes): "page \(number) is truncated after \(bytes) bytes"
        case .structure(let message): message
        case .foreignKey(let table, let rowID, let parent, _):
            "row \(rowID.map { String($0) } ?? "?") of \(table) refers to a row of \(parent) that does not exist"
        }
    }
}
