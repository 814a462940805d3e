import CSQLCipher
import Foundation

/// Several SQL statements, separated by semicolons. A script may contain comments, and triggers with semicolons in their bodies.
/// ```swift
/// try db.execute(SQLScript("CREATE TABLE a(x); CREATE TABLE b(y);"))
/// ```
///
/// A script can be written as a literal. `execute` takes a literal as a single statement, unless you write its type.
/// ```swift
/// let creation: SQLScript = "CREATE TABLE a(x); CREATE TABLE b(y);"
/// ```
public struct SQLScript: Sendable, ExpressibleByStringLiteral {
    /// The script's text.
    public let text: String

    /// Creates a script from text. Never use untrusted text: a script binds no values.
    public init(_ text: String) { self.text = text }

    public init(stringLiteral text: String) { self.text = text }

    /// Creates a script from a UTF-8 file.
    /// - Throws: ``DatabaseError/Reason/cannotOpen``, or ``DatabaseError/Reason/invalidArgument`` if the file is not UTF-8.
    public init(contentsOf url: URL) throws {
        let path = try Paths.file(Paths.path(in: url), of: "a script")
        let data: Data
        do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "the script \(path) cannot be read", path: path)
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw DatabaseError.invalidArgument("the script \(path) is not UTF-8")
        }
        self.text = text
    }

    /// Creates a script from a bundle's resource of this name, with or without the extension `sql`.
    /// - Throws: ``DatabaseError/Reason/cannotOpen`` if there is no such resource.
    public init(resource name: String, in bundle: Bundle) throws {
        guard let url = bundle.url(forResource: name, withExtension: nil) ?? bundle.url(forResource: name, withExtension: "sql")
        else {
            throw DatabaseError(
                code: .cannotOpen, reason: .cannotOpen, message: "no resource \(name) in \(bundle.bundlePath)", path: name)
        }
        try self.init(contentsOf: url)
    }
}

extension SQLScript {
    /// True if the text ends with a semicolon that ends a statement, as opposed to a semicolon inside a string, a comment or a
    /// trigger's body (<https://sqlite.org/c3ref/complete.html>). For programs that read SQL line by line. Nothing is compiled.
    public var isComplete: Bool {
        // From SQLite 3.54 on, a comment without a line's end would be incomplete.
        !text.utf8.contains(0) && sqlite3_complete(text + "\n") == 1
    }
}

/// The next step after a script's row callback.
public enum ScriptStep: Sendable {
    /// Continue with the next row.
    case next
    /// Stop without running the remaining statements.
    case stop
}

extension Connection {
    /// Runs all statements of a script in order. They are not run in one transaction: wrap the call in one if either all or none
    /// should take effect.
    ///
    /// - Parameters:
    ///   - script: the statements.
    ///   - row: called for each row of each statement, with the statement's index.
    /// - Throws: ``DatabaseError``, whose ``DatabaseError/statementIndex`` says which statement failed, or any error that `row`
    ///   throws. A script has no values to bind: a statement with parameters fails with ``DatabaseError/Reason/parameters``.
    // A literal is one statement, in which values are bound.
    @_disfavoredOverload
    public func execute(_ script: SQLScript, row: ((Int, borrowing Row) throws -> ScriptStep)? = nil) throws {
        var text: SQLText
        do { text = try SQLText(script.text) } catch { throw DatabaseError(error, inStatement: 0) }
        var index = 0
        while true {
            let statement: Statement?
            do { statement = try prepareNext(of: &text) } catch {
                throw DatabaseError(error, inStatement: index)
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
            throw DatabaseError(error, inStatement: index)
        }
        return wanted
    }
}
