import CSQLCipher
import Foundation

/// Several SQL statements, separated by semicolons, with comments, and with triggers whose bodies hold semicolons.
/// ```swift
/// try db.execute(SQLScript("CREATE TABLE a(x); CREATE TABLE b(y);"))
/// ```
public struct SQLScript: Sendable {
    /// The script's text.
    public let text: String

    /// A script from text.
    public init(_ text: String) { self.text = text }

    /// A script from a file in UTF-8.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` with the path, or ``DatabaseError/Reason/invalidArgument`` if the file is
    ///   not UTF-8.
    public init(contentsOf url: URL) throws(DatabaseError) {
        _ = try url.path.cName("the path of a script")
        let data: Data
        do { data = try Data(contentsOf: url) } catch {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "the script \(url.path) cannot be read", path: url.path)
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw .invalidArgument("the script \(url.path) is not UTF-8")
        }
        self.text = text
    }

    /// A script from a resource of a bundle.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is none of that name.
    public init(resource name: String, in bundle: Bundle) throws(DatabaseError) {
        guard let url = bundle.url(forResource: name, withExtension: nil) ?? bundle.url(forResource: name, withExtension: "sql")
        else {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "no resource \(name) in \(bundle.bundlePath)", path: name)
        }
        try self.init(contentsOf: url)
    }
}

extension SQLScript {
    /// Whether the text ends with a semicolon that ends a statement: one inside of a string, a comment or a trigger's body does
    /// not (<https://sqlite.org/c3ref/complete.html>). For programs that read SQL line by line. Nothing is compiled.
    public var isComplete: Bool { !text.utf8.contains(0) && sqlite3_complete(text) == 1 }
}

/// What a script's row callback wants next.
public enum ScriptStep: Sendable {
    /// Go on with the next row.
    case next
    /// Stop here; the statements that are left do not run.
    case stop
}

/// An error in a script, with the statement it happened in.
public struct SQLScriptError: Error, Sendable, CustomStringConvertible {
    /// Which statement, counted from 0; comments alone do not count.
    public let index: Int
    /// What happened, with the statement's SQL.
    public let error: DatabaseError

    public var description: String { "statement \(index + 1) of the script: \(error)" }
}

extension Connection {
    /// Runs all statements of a script in order, each on its own: wrap the call in a transaction to have all or nothing.
    ///
    /// - Parameters:
    ///   - script: the statements.
    ///   - row: called for each row of each statement, with the statement's index.
    /// - Throws: ``SQLScriptError`` with the index of the statement that failed, or what `row` throws. A script has no values: a
    ///   statement with parameters fails with ``DatabaseError/Reason/parameters``.
    public func execute(_ script: SQLScript, row: ((Int, borrowing Row) throws -> ScriptStep)? = nil) throws {
        var text: SQLText
        do throws(DatabaseError) { text = try SQLText(script.text) } catch { throw SQLScriptError(index: 0, error: error) }
        var index = 0
        while true {
            let statement: Statement?
            do throws(DatabaseError) { statement = try prepareNext(of: &text) } catch {
                throw SQLScriptError(index: index, error: error)
            }
            guard let statement else { return }
            guard try run(statement, index, row) == .next else { return }
            index += 1
        }
    }

    private func run(_ statement: Statement, _ index: Int, _ row: ((Int, borrowing Row) throws -> ScriptStep)?) throws -> ScriptStep
    {
        var wanted = ScriptStep.next
        var inCallback = false
        do {
            let handle = try statement.beginUse()
            defer { statement.endUse(handle) }
            try statement.expectParameters(0, handle)
            while wanted == .next, try statement.advance(handle) {
                guard let row else { continue }
                inCallback = true
                wanted = try row(index, Row(handle, statement.names(handle)))
                inCallback = false
            }
        } catch let error as DatabaseError where !inCallback {
            throw SQLScriptError(index: index, error: error)
        }
        return wanted
    }
}
