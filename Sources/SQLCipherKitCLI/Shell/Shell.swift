import Foundation
import SQLCipherKit

/// Reads statements and commands line by line and runs them.
final class Shell {
    private(set) var db: Connection
    /// The path of the main database.
    private(set) var path: String
    /// The key of the main database, for databases that are attached with the same key.
    private(set) var key: DatabaseKey?
    var format: OutputFormat
    var layout = Layout()
    var showsTime = false
    var showsChanges: Bool
    /// True to write each statement before it runs.
    var echoes = false
    /// True if an error ends the shell.
    var stopsAtErrors: Bool
    /// True if commands that reach other files or programs are refused, but for those of the user's own file.
    var isSafe = false
    /// Values for the parameters of statements, by name.
    var parameters: [String: SQLValue] = [:]
    /// True if output goes elsewhere for one statement or command.
    private var isOnce = false
    /// True if a statement of a script has failed, and the script went on.
    private var hasFailed = false
    /// The depth to which files that `.read` runs are nested.
    private var depth = 0
    private let lines: any LineSource
    private let history: History?
    /// True if the program that output goes to has ended before the end of the rows.
    private var hasLeft = false
    /// True if a person is typing: then the shell shows errors and continues.
    let isInteractive: Bool
    /// True if lines come from a file, so that an error names its line.
    private var isScript: Bool { !isInteractive || depth > 0 }
    /// The lines of the unfinished statement, for the history.
    private var pending: [String] = []
    private var splitter = StatementSplitter()

    init(_ db: Connection, _ path: String, _ key: DatabaseKey?, _ lines: any LineSource, format: OutputFormat) throws {
        (self.db, self.path, self.key, self.lines, self.format) = (db, path, key, lines, format)
        let editor = lines as? LineEditor
        history = editor?.history
        isInteractive = history != nil
        showsChanges = isInteractive
        stopsAtErrors = !isInteractive
        try db.register(.regularExpressions())
        editor?.completer = { [unowned self] in Completer(db: self.db).complete(pending.map { $0 + "\n" }.joined(), $0) }
    }

    /// Works on another database from now on.
    func open(_ db: Connection, _ path: String, _ key: DatabaseKey?) throws {
        if self.db.isInTransaction { throw Failure("a transaction is open: use COMMIT or ROLLBACK before .open") }
        try db.register(.regularExpressions())
        self.db.close()
        (self.db, self.path, self.key) = (db, path, key)
    }

    func run() throws {
        if isInteractive { try guarding { try readStart() } }
        while true {
            switch try lines.next(pending.isEmpty ? "sqlcipherkit> " : "         ...> ") {
            case .interrupted: forget()
            case .end: return try end()
            case .line(let line):
                var goesOn = true
                // From the history, or pasted, there may be several.
                let parts = isInteractive ? line.split(separator: 0x0a, omittingEmptySubsequences: false) : [line[...]]
                try guarding { for part in parts where goesOn { goesOn = try self.take(part) } }
                if !goesOn { return try end() }
            }
            if isInteractive { try Output.flush() }
        }
    }

    /// Runs the user's own file of commands, if there is one.
    private func readStart() throws {
        let file = HomeFolder.folder("XDG_CONFIG_HOME", or: ".config", Invocation.current.environment) + "/sqlcipherkit/shellrc"
        guard FileManager.default.fileExists(atPath: file) else { return }
        let wasSafe = isSafe
        isSafe = false
        defer { isSafe = wasSafe }
        try read(file)
    }

    private func forget() {
        pending = []
        splitter.reset()
    }

    /// Handles the end of the input.
    private func end() throws {
        try guarding { if let statement = try splitter.rest() { try self.run([statement]) } }
        if db.isInTransaction {
            let message = "the open transaction is rolled back: COMMIT would have kept it"
            guard isInteractive else { throw Failure(message) }
            Output.error(message)
        }
        if hasFailed { throw Failure("statements have failed") }
    }

    /// Takes a line.
    /// - Returns: whether the shell continues.
    private func take(_ line: ArraySlice<UInt8>) throws -> Bool {
        if splitter.isEmpty, let command = DotCommand.line(line) {
            splitter.skipLine()
            if !isScript, DotCommand.isFitForHistory(command) { try history?.add([command]) }
            if echoes { Output.data(command) }
            return try ScriptRunner.locating(line: isScript ? splitter.line : nil) { try run(command: command) }
        }
        if !isScript { pending.append(String(decoding: line, as: UTF8.self)) }
        let statements = try splitter.take(line)
        if splitter.isEmpty {
            try history?.add(pending)
            pending = []
        }
        try run(statements)
        return true
    }

    private func run(command: String) throws -> Bool {
        let wasOnce = isOnce
        defer { if wasOnce { isOnce = false } }
        let goesOn = try DotCommand.run(command, in: self)
        if wasOnce { try Output.redirect(to: nil) }
        return goesOn
    }

    /// Sends the output of the next statement or command elsewhere.
    func once(to target: String) throws {
        try Output.redirect(to: target)
        isOnce = true
    }

    private func run(_ statements: [StatementSplitter.Statement]) throws {
        for statement in statements {
            // A short statement does not call the progress handler.
            try Interruption.check()
            do {
                try ScriptRunner.locating(line: isScript ? statement.line : nil) { try execute(statement.sql) }
            } catch where !stopsAtErrors && isScript && !Interruption.isWanted {
                hasFailed = true
                try Output.flush()
                Output.error("error: " + Failure(describing: error).message.onOneLine)
            }
        }
    }

    private func execute(_ sql: String) throws {
        if echoes { Output.data(sql) }
        let clock = Rate()
        let changes = db.totalChanges
        defer { if showsTime { Output.error("took \(clock.elapsed.readable)") } }
        do { try rows(of: sql, changes) } catch where hasLeft { hasLeft = false }
        if isOnce {
            isOnce = false
            try Output.redirect(to: nil)
        }
        if showsChanges, db.totalChanges > changes { Output.error("\((db.totalChanges - changes).counted("row")) changed") }
    }

    /// Runs a statement and shows its rows.
    private func rows(of sql: String, _ changes: Int) throws {
        var writer: (any RowWriter)?
        let output = Output.current
        func show(_ row: borrowing Row) throws {
            try Interruption.check()
            // A statement that has changed nothing can stop.
            if output.readerHasLeft, db.totalChanges == changes {
                hasLeft = true
                throw Failure("the program has ended")
            }
            let current = try writer ?? format.writer(of: sql, row.columnNames, layout: layout)
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

    /// Shows rows that are already in memory.
    func show(_ columns: [String], _ rows: [[SQLValue]]) throws {
        let writer = try format.writer(columns, layout: layout)
        for row in rows { try writer.write(row) }
        writer.finish()
    }

    private func runWithParameters(_ sql: String, _ show: (borrowing Row) throws -> Void) throws {
        let statement = try db.prepare(SQL(raw: sql))
        let names = statement.parameterNames.compactMap { $0 }
        var values: [String: (any SQLValueConvertible)?] = [:]
        for name in names {
            guard let value = parameters[name] ?? parameters[String(name.dropFirst())] else {
                throw Failure("\(name) has no value: set it with .parameter set \(name) VALUE")
            }
            values[name] = value
        }
        try statement.forEach(StatementArguments(values)) { row in try show(row) }
    }

    /// Runs the lines of a file, or of a program's output if the text begins with `|`.
    func read(_ path: String) throws {
        guard depth < 20 else { throw Failure("\(path) is not read: more than 20 files read one another, or a file reads itself") }
        let lines = try PlainLines(path)
        let outer = splitter
        splitter = StatementSplitter()
        depth += 1
        defer {
            splitter = outer
            depth -= 1
        }
        do {
            while let line = try lines.line() {
                guard try take(line) else { return }
            }
            if let statement = try splitter.rest() { try run([statement]) }
        } catch {
            let failure = Failure(describing: error)
            throw Failure("\(path), \(failure.message)", status: failure.status)
        }
    }

    /// Runs `body`. Shows an error and goes on, unless it should end the shell. An interruption ends a script; a person's next line
    /// forgets it.
    private func guarding(_ body: () throws -> Void) throws {
        if isInteractive { Interruption.reset() }
        do { try body() } catch {
            // What goes elsewhere for one statement goes back after an error too.
            if isOnce {
                isOnce = false
                try? Output.redirect(to: nil)
            }
            guard isInteractive || !stopsAtErrors && !Interruption.isWanted else { throw error }
            forget()
            let failure = Failure(describing: error)
            try Output.flush()
            Output.error(failure.status == .interrupted ? "interrupted" : "error: " + failure.message.onOneLine)
            Interruption.reset()
            if isInteractive, stopsAtErrors { throw Failure("the shell ends at the first error: .bail is on") }
            hasFailed = hasFailed || !isInteractive
        }
    }
}
