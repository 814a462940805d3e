import ArgumentParser
import SQLCipherKit
import SQLCipherKitSync

struct DiffCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show the differences between two databases.",
        discussion: """
            Shows a row for each table that differs, with the number of rows inserted, deleted and updated from the first database \
            to the second. --sql writes the statements that turn the first into the second, with the data in plaintext. The status \
            is 4 if there is a difference. A table whose key is compared by a collation of another program is refused; --leave-out \
            leaves out the tables that need that collation or function.

            EXAMPLES
              sqlcipherkit diff monday.db notes.db
              sqlcipherkit diff monday.db notes.db --other-key env:NOTES_KEY --sql

            \(form); with --sql sql
            """)

    private static let form = JSONForm.rows("table", "definition", "inserted", "deleted", "updated", "unchanged")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("The second database.", valueName: "other"), completion: .file())
    var other: String

    @Option(
        help: ArgumentHelp(
            "Where the key of the second database comes from: \(KeyReference.grammar); none for plaintext. "
                + "By default it is the key of the first.",
            valueName: "source"))
    var otherKey: String?

    @Flag(name: .customLong("sql"), help: "Write the SQL that turns the first database into the second.")
    var writesSQL = false

    @OptionGroup var leaveOut: LeaveOutOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try second }

    private var second: Attachment { get throws { try Attachment(name: "other", path: other, source: otherKey ?? "same") } }

    func run() throws {
        let (db, key) = try file.openWithKey(.readOnly)
        try second.attach(to: db, key)
        let new = try db.schema("other")
        let damage = try new.verify(quick: true, limits: .ofTheTool(for: other)).problems
        if let problem = damage.first(where: { !$0.isReference && $0 != .noAuthentication }) {
            throw Failure("the structure of \(other) is damaged: \(problem.sentence)")
        }
        var diff = try DatabaseDiff(from: db.main, to: new)
        diff.leavesOutOtherModules = true
        for name in try diff.otherModules() { Output.error(OtherModules.said(name)) }
        let needed = try ForeignName.needed(by: db.main) + ForeignName.needed(by: new)
        let tables = Set(needed.filter { leaveOut.names.contains(name: $0.name.name) }.map { SQLName($0.table) })
        for table in tables.map(\.text).sorted() { Output.error("left out the table \(table)".onOneLine) }
        diff.isLeftOut = { tables.contains(SQLName($0.table)) }
        let checks = try [db.main, new].map { try ForeignName.readingStoredOrder(of: $0) }
        try show(diff) {
            do { for check in checks { try check() } } catch let failure as Failure {
                throw Failure("\(failure.message): --leave-out with its name goes on without it")
            }
        }
    }

    /// - Parameter check: throws if the differences are not certain.
    private func show(_ diff: DatabaseDiff, _ check: () throws -> Void) throws {
        if writesSQL {
            let sql = try diff.sql()
            try check()
            if sql.isEmpty {
                if output.format != nil { try output.write(["sql"], []) }
                return
            }
            if output.format == nil { Output.data(String(sql.dropLast())) } else { try output.write(["sql"], [[.text(sql)]]) }
            throw Failure("the databases differ", status: .different)
        }
        let tables = try diff.summary().filter { !$0.isSame }
        let isSame = try tables.isEmpty && diff.isEmpty()
        try check()
        if isSame {
            if output.format == nil { Output.line("no difference") } else { try output.write(Self.form.keys, []) }
            return
        }
        try output.write(
            Self.form.keys,
            tables.map { table in
                [
                    .text(table.name), .text("\(table.definition)"), .integer(Int64(table.inserted)),
                    .integer(Int64(table.deleted)),
                    .integer(Int64(table.updated)), .integer(Int64(table.unchanged)),
                ]
            })
        throw Failure("the databases differ: --sql shows the statements that make them equal", status: .different)
    }
}
