import CSQLCipher

/// A user's function as SQLite stores it, from its registration until it is replaced or the connection closes.
@usableFromInline
final class ScalarFunction {
    @usableFromInline typealias Body = (borrowing FunctionArguments, FunctionResult, ValueProfile) throws -> Void

    let name: String
    let body: Body
    // SQLite calls functions only in calls on the connection, which keep it alive.
    unowned(unsafe) let connection: Connection

    init(_ name: String, _ connection: Connection, _ body: @escaping Body) {
        self.name = name
        self.connection = connection
        self.body = body
    }

    func call(_ context: OpaquePointer, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        connection.inFunction {
            let result = FunctionResult(context: context)
            do {
                try body(FunctionArguments(count, values, connection.profile), result, connection.profile)
                if !connection.isOpen { throw DatabaseError.closedConnection }
            } catch {
                result.fail(error, in: name, connection)
            }
        }
    }
}

extension SQLExtension {
    /// Creates an extension for a closure that SQL calls as a function, with typed arguments (<https://sqlite.org/appfunc.html>).
    /// ```swift
    /// try db.register(.function("initials", .deterministic) { (first: String, last: String?) in
    ///     String(first.prefix(1)) + String((last ?? "").prefix(1))
    /// })
    /// let all = try db.fetchAll(String.self, "SELECT initials(first, last) FROM person")
    /// ```
    /// Arguments are converted without loss, like columns: a NULL for a `String`, or text for an `Int`, fails the statement. An
    /// error that the closure throws ends the statement and reaches its caller: a ``DatabaseError`` unchanged, any other error as
    /// the ``DatabaseError/underlyingError`` of one with the reason ``DatabaseError/Reason/callback``. The closure may use the
    /// connection, but not the statement that calls it. It is kept until the connection closes, so it should capture the connection
    /// as `weak` or `unowned`.
    ///
    /// Registering throws ``DatabaseError`` if the name is too long or has a NUL character, or a function with this name and number
    /// of arguments is running.
    /// - Parameters:
    ///   - name: the function's name; replaces a function of SQLite's with the same name and number of arguments.
    ///   - options: what SQLite may assume. Default: nothing.
    ///   - body: the function. It is called on the thread that uses the connection, never on two at a time.
    @inlinable
    public static func function<each Argument: SQLValueConvertible, Result: SQLValueConvertible>(
        _ name: String, _ options: FunctionOptions = [], _ body: @escaping (repeat each Argument) throws -> Result
    ) -> SQLExtension {
        var count = 0
        for _ in repeat (each Argument).self { count += 1 }
        return SQLExtension(function: name, count, options) { arguments, result, profile in
            var index = -1
            func next() -> Int {
                index += 1
                return index
            }
            let value = try body(repeat arguments.get(next(), as: (each Argument).self))
            try result.set(value, profile)
        }
    }

    /// Creates an extension for a closure that SQL calls as a function, with any number of arguments, or with arguments of any
    /// type.
    /// ```swift
    /// try db.register(.function("longest", arguments: nil, .deterministic) { arguments in
    ///     var longest = ""
    ///     for index in 0..<arguments.count {
    ///         let text: String = try arguments[index]
    ///         if text.count > longest.count { longest = text }
    ///     }
    ///     return longest
    /// })
    /// ```
    /// Registering throws ``DatabaseError`` if the name is too long or has a NUL character, the number of arguments is over 1,000,
    /// or a function with this name and number of arguments is running.
    /// - Parameters:
    ///   - name: the function's name.
    ///   - arguments: the number of arguments; nil for any number.
    ///   - options: what SQLite may assume. Default: nothing.
    ///   - body: the function. Its errors reach the caller as in ``function(_:_:_:)``.
    @inlinable
    public static func function<Result: SQLValueConvertible>(
        _ name: String, arguments: Int?, _ options: FunctionOptions = [],
        _ body: @escaping (borrowing FunctionArguments) throws -> Result
    ) -> SQLExtension {
        SQLExtension(function: name, arguments, options) { arguments, result, profile in try result.set(body(arguments), profile) }
    }

    @usableFromInline
    init(function name: String, _ arguments: Int?, _ options: FunctionOptions, _ body: @escaping ScalarFunction.Body) {
        self.init { connection throws(DatabaseError) in
            try connection.defineFunction(name, try Self.argumentCount(arguments)) { handle, count in
                let function = ScalarFunction(name, connection, body)
                // SQLite releases the box when the function is replaced, when the connection closes, and when this call fails.
                return sqlite3_create_function_v2(
                    handle, name, count, SQLITE_UTF8 | options.rawValue, Unmanaged.passRetained(function).toOpaque(),
                    { context, count, values in
                        guard let context, let data = sqlite3_user_data(context) else { return }
                        Unmanaged<ScalarFunction>.fromOpaque(data).takeUnretainedValue().call(context, count, values)
                    }, nil, nil,
                    { pointer in if let pointer { Unmanaged<ScalarFunction>.fromOpaque(pointer).release() } })
            }
        }
    }
}
