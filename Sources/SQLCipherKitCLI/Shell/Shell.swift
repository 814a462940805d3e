import Foundation
import SQLCipherKit

/// Reads statements and commands line by line and runs them.
final class Shell {
    let db: Connection
    /// The key of the main database, for those attached with the same.
    let key: Encryption?
    var format: OutputFormat
    var showsTime = false
    private let lines: any LineSource
    private let history: History?
    /// Whether somebody sits there: errors are shown and the shell goes on.
    private let isInteractive: Bool
    private var pending: [String] = []

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
            case .interrupted: pending = []
            case .end:
                if !pending.isEmpty { try guarding { try self.runPending() } }
                if db.isInTransaction { Output.error("the open transaction is rolled back: COMMIT would have kept it") }
                return
            case .line(let line):
                var goesOn = true
                try guarding { goesOn = try self.take(line) }
                if !goesOn { return }
            }
            try Output.flush()
        }
    }

    /// - Returns: whether the shell goes on.
    private func take(_ line: String) throws -> Bool {
        if pending.isEmpty {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.isEmpty { return true }
            if trimmed.hasPrefix(".") {
                if DotCommand.isFitForHistory(trimmed) { try history?.add([line]) }
                return try DotCommand.run(trimmed, in: self)
            }
        }
        pending.append(line)
        if SQLScript(pending.joined(separator: "\n")).isComplete { try runPending() }
        return true
    }

    private func runPending() throws {
        let statement = pending
        pending = []
        try history?.add(statement)
        try execute(statement.joined(separator: "\n"))
    }

    private func execute(_ sql: String) throws {
        let clock = Rate()
        let changes = db.totalChanges
        var current: (index: Int, writer: any RowWriter)?
        defer { if showsTime { Output.error("took \(clock.elapsed.readable)") } }
        try db.execute(SQLScript(sql)) { index, row in
            try Interruption.check()
            if current?.index != index {
                current?.writer.finish()
                current = (index, self.format.writer(row.columnNames))
            }
            try current?.writer.write(try row.shownValues())
            return .next
        }
        current?.writer.finish()
        if isInteractive, db.totalChanges > changes { Output.error("\((db.totalChanges - changes).counted("row")) changed") }
    }

    /// Shows an error to somebody who sits there, and forgets an interruption; a script ends with it.
    private func guarding(_ body: () throws -> Void) throws {
        Interruption.reset()
        do { try body() } catch {
            guard isInteractive else { throw error }
            let failure = Failure(describing: error)
            try Output.flush()
            Output.error(failure.status == .interrupted ? "interrupted" : "error: " + failure.message.onOneLine)
            Interruption.reset()
        }
    }
}
