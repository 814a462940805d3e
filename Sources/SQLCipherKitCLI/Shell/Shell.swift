import Foundation
import SQLCipherKit

/// Reads statements and commands line by line and runs them.
final class Shell {
    let db: Connection
    /// The key of the main database, for those attached with the same.
    let key: Encryption?
    var format: OutputFormat
    /// The table that the format `insert` names.
    var insertTable = "result"
    var showsHeaders = true
    var showsTime = false
    /// Values for statements' parameters, by their names with the sign before them.
    var parameters: [String: SQLValue] = [:]
    /// How many files read each other.
    private var depth = 0
    private let lines: any LineSource
    private let history: History?
    /// Whether somebody sits there: errors are shown and the shell goes on.
    private let isInteractive: Bool
    /// Whether lines come from a file, so that an error says in which one it is.
    private var isScript: Bool { !isInteractive || depth > 0 }
    /// The lines of what is begun, for the history.
    private var pending: [String] = []
    private var splitter = StatementSplitter()

    init(_ db: Connection, _ key: Encryption?, _ lines: any LineSource, format: OutputFormat) {
        self.db = db
        self.key = key
        self.lines = lines
        self.format = format
        history = (lines as? LineEditor)?.history
        isInteractive = history != nil
    }

    func run() throws {
        while true {
            switch try lines.next(pending.isEmpty ? "sqlcipherkit> " : "         ...> ") {
            case .interrupted: forget()
            case .end: return try end()
            case .line(let line):
                var goesOn = true
                try guarding { goesOn = try self.take(line) }
                if !goesOn { return try end() }
            }
            if isInteractive { try Output.flush() }
        }
    }

    private func forget() {
        pending = []
        splitter.reset()
    }

    /// The end of what is read.
    private func end() throws {
        if let statement = splitter.rest() { try guarding { try self.run([statement]) } }
        guard db.isInTransaction else { return }
        let message = "the open transaction is rolled back: COMMIT would have kept it"
        guard isInteractive else { throw Failure(message) }
        Output.error(message)
    }

    /// - Returns: whether the shell goes on.
    private func take(_ line: String) throws -> Bool {
        if splitter.isEmpty {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.hasPrefix(".") {
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
        var writer: (any RowWriter)?
        defer { if showsTime { Output.error("took \(clock.elapsed.readable)") } }
        func show(_ row: borrowing Row) throws {
            try Interruption.check()
            let current = writer ?? self.writer(row.columnNames)
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
        if isInteractive, db.totalChanges > changes { Output.error("\((db.totalChanges - changes).counted("row")) changed") }
    }

    private func writer(_ columns: [String]) -> any RowWriter {
        format.writer(columns, hasHeader: showsHeaders, table: insertTable)
    }

    /// Shows rows that are at hand.
    func show(_ columns: [String], _ rows: [[SQLValue]]) throws {
        let writer = writer(columns)
        for row in rows { try writer.write(row) }
        writer.finish()
    }

    private func runWithParameters(_ sql: String, _ show: (borrowing Row) throws -> Void) throws {
        let statement = try db.prepare(SQL(raw: sql))
        let names = statement.parameterNames.compactMap { $0 }
        var values: [String: (any SQLValueConvertible)?] = [:]
        for name in names {
            guard let value = parameters[name] ?? parameters[String(name.dropFirst())] else {
                throw Failure("\(name) has no value: .parameter set \(name) VALUE")
            }
            values[name] = value
        }
        try statement.forEach(StatementArguments(values)) { row in try show(row) }
    }

    /// Runs the lines of a file.
    func read(_ path: String) throws {
        guard depth < 20 else { throw Failure("\(path) is read by what it reads") }
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

    /// Shows an error to somebody who sits there, and forgets an interruption; a script ends with it.
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
