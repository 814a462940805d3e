import Foundation
import SQLCipherKit

/// Reads statements and commands line by line and runs them.
final class Shell {
    let db: Connection
    /// The key of the main database, for databases that are attached with the same key.
    let key: Encryption?
    var format: OutputFormat
    /// The table that the format `insert` names.
    var insertTable = "result"
    var showsHeaders = true
    var showsTime = false
    /// Values for the parameters of statements, by name.
    var parameters: [String: SQLValue] = [:]
    /// How deeply files that `.read` runs are nested.
    private var depth = 0
    private let lines: any LineSource
    private let history: History?
    /// Whether the user has left the pager before the end of the rows.
    private var hasLeft = false
    /// Whether a person is typing: then the shell shows errors and continues.
    private let isInteractive: Bool
    /// Whether lines come from a file, so that an error names its line.
    private var isScript: Bool { !isInteractive || depth > 0 }
    /// The lines of the unfinished statement, for the history.
    private var pending: [String] = []
    private var splitter = StatementSplitter()

    init(_ db: Connection, _ key: Encryption?, _ lines: any LineSource, format: OutputFormat) {
        self.db = db
        self.key = key
        self.lines = lines
        self.format = format
        let editor = lines as? LineEditor
        history = editor?.history
        isInteractive = history != nil
        editor?.completer = { [unowned self] before, after in self.complete(before, after) }
        if Terminal.style.hasColours { editor?.colours = SyntaxColours.attributes }
    }

    private func complete(_ before: String, _ after: String) -> Completion {
        let command = before.drop { $0 == " " || $0 == "\t" }
        guard pending.isEmpty, command.hasPrefix(".") else {
            return SQLCompleter(db).complete(pending.map { $0 + "\n" }.joined(), before, after)
        }
        return DotCompleter(db: db).complete(String(command))
    }

    func run() throws {
        while true {
            switch try lines.next(pending.isEmpty ? "sqlcipherkit> " : "         ...> ") {
            case .interrupted: forget()
            case .end: return try end()
            case .line(let line):
                var goesOn = true
                // A statement from the history comes with all of its lines.
                let parts = isInteractive ? line.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) : [line]
                try guarding { for part in parts where goesOn { goesOn = try self.take(part) } }
                if !goesOn { return try end() }
            }
            if isInteractive { try Output.flush() }
        }
    }

    private func forget() {
        pending = []
        splitter.reset()
    }

    /// Handles the end of the input.
    private func end() throws {
        if let statement = splitter.rest() { try guarding { try self.run([statement]) } }
        guard db.isInTransaction else { return }
        let message = "the open transaction is rolled back: COMMIT would have kept it"
        guard isInteractive else { throw Failure(message) }
        Output.error(message)
    }

    /// Takes a line.
    /// - Returns: whether the shell continues.
    private func take(_ line: String) throws -> Bool {
        if splitter.isEmpty {
            if line.utf8.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: ".") {
                let trimmed = line.trimmingCharacters(in: .whitespaces)
                splitter.skipLine()
                if !isScript, DotCommand.isFitForHistory(trimmed) { try history?.add([line]) }
                return try ScriptRunner.locating(line: isScript ? splitter.line : nil) { try DotCommand.run(trimmed, in: self) }
            }
        }
        if !isScript { pending.append(line) }
        let statements = splitter.take(line)
        if splitter.isEmpty {
            try history?.add(pending)
            pending = []
        }
        try run(statements)
        return true
    }

    private func run(_ statements: [StatementSplitter.Statement]) throws {
        for statement in statements {
            try ScriptRunner.locating(line: isScript ? statement.line : nil) { try execute(statement.sql) }
        }
    }

    private func execute(_ sql: String) throws {
        let clock = Rate()
        let changes = db.totalChanges
        defer { if showsTime { Output.error("took \(clock.elapsed.readable)") } }
        do { try Output.paged { try rows(of: sql, changes) } } catch where hasLeft { hasLeft = false }
        if isInteractive, db.totalChanges > changes { Output.error("\((db.totalChanges - changes).counted("row")) changed") }
    }

    /// Runs a statement and shows its rows.
    private func rows(of sql: String, _ changes: Int) throws {
        var writer: (any RowWriter)?
        func show(_ row: borrowing Row) throws {
            try Interruption.check()
            // A statement that has changed nothing can stop when the user leaves the pager.
            if Output.readerHasLeft, db.totalChanges == changes {
                hasLeft = true
                throw Failure("the pager was left")
            }
            let current = writer ?? format.writer(of: sql, row.columnNames, hasHeader: showsHeaders, table: insertTable)
            writer = current
            try current.write(row)
        }
        if parameters.isEmpty {
            try db.execute(SQLScript(sql)) { _, row in
                try show(row)
                return .next
            }
        } else {
            try runWithParameters(sql, show)
        }
        writer?.finish()
    }

    /// Shows the plan of a statement.
    func showPlan(_ sql: String) throws {
        let writer = PlanWriter()
        try runWithParameters("EXPLAIN QUERY PLAN " + sql, binding: false) { row in try writer.write(row) }
        writer.finish()
    }

    private func writer(_ columns: [String]) -> any RowWriter {
        format.writer(columns, hasHeader: showsHeaders, table: insertTable)
    }

    /// Shows rows that are already in memory.
    func show(_ columns: [String], _ rows: [[SQLValue]]) throws {
        let writer = writer(columns)
        for row in rows { try writer.write(row) }
        writer.finish()
    }

    private func runWithParameters(_ sql: String, binding: Bool = true, _ show: (borrowing Row) throws -> Void) throws {
        let statement = try db.prepare(SQL(raw: sql))
        let names = statement.parameterNames.compactMap { $0 }
        var values: [String: (any SQLValueConvertible)?] = [:]
        // A plan needs no values.
        let missing: SQLValue? = binding ? nil : .null
        for name in names {
            guard let value = parameters[name] ?? parameters[String(name.dropFirst())] ?? missing else {
                throw Failure("\(name) has no value: set it with .parameter set \(name) VALUE")
            }
            values[name] = value
        }
        try statement.forEach(StatementArguments(values)) { row in try show(row) }
    }

    /// Runs the lines of a file.
    func read(_ path: String) throws {
        guard depth < 20 else { throw Failure("\(path) is not read: more than 20 files read one another, or a file reads itself") }
        let text = try SQLScript(contentsOf: URL(fileURLWithPath: path)).text
        let outer = splitter
        splitter = StatementSplitter()
        depth += 1
        defer {
            splitter = outer
            depth -= 1
        }
        do {
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                guard try take(String(line)) else { return }
            }
            if let statement = splitter.rest() { try run([statement]) }
        } catch {
            let failure = Failure(describing: error)
            throw Failure("\(path), \(failure.message)", status: failure.status)
        }
    }

    /// Runs `body`. Shows an error to a user at the terminal, and forgets an interruption; in a script, throws the error.
    private func guarding(_ body: () throws -> Void) throws {
        Interruption.reset()
        do { try body() } catch {
            guard isInteractive else { throw error }
            forget()
            let failure = Failure(describing: error)
            try Output.flush()
            Output.error(failure.status == .interrupted ? "interrupted" : "error: " + failure.message.onOneLine)
            Interruption.reset()
        }
    }
}
