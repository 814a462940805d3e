import CSQLCipher

/// A function of the user's as SQLite holds it, from its registration until its replacement or the connection's end.
final class ScalarFunction {
    let name: String
    let body: (borrowing FunctionArguments, FunctionResult, DateStrategy) throws -> Void
    // SQLite calls functions in calls on the connection, which keep it alive.
    unowned(unsafe) let connection: Connection

    init(
        _ name: String, _ connection: Connection,
        _ body: @escaping (borrowing FunctionArguments, FunctionResult, DateStrategy) throws -> Void
    ) {
        self.name = name
        self.connection = connection
        self.body = body
    }

    func call(_ context: OpaquePointer, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        connection.inFunction {
            let result = FunctionResult(context: context)
            do {
                try body(FunctionArguments(count, values), result, connection.configuration.dateStrategy)
                if !connection.isOpen { throw DatabaseError.closedConnection }
            } catch {
                result.fail(error, in: name, connection)
            }
        }
    }
}

extension Connection {
    /// Makes a closure callable from SQL, with typed arguments (<https://sqlite.org/appfunc.html>).
    /// ```swift
    /// try db.addFunction("initials", .deterministic) { (first: String, last: String?) in
    ///     String(first.prefix(1)) + String((last ?? "").prefix(1))
    /// }
    /// let all = try db.fetchAll(String.self, "SELECT initials(first, last) FROM person")
    /// ```
    /// Arguments are converted without a loss, as columns are: a NULL for a `String`, or text for an `Int`, fails the statement.
    /// An error that the closure throws ends the statement and reaches its caller: a ``DatabaseError`` as it is, another one as
    /// ``DatabaseError/underlyingError``, with the reason ``DatabaseError/Reason/callback``. The closure may use the connection,
    /// but not the statement that calls it; it is kept until the connection closes, so let it hold the connection `weak` or
    /// `unowned`.
    /// - Parameters:
    ///   - name: the function's name; one of SQLite's own with as many arguments is replaced.
    ///   - options: what SQLite may assume. Default: nothing.
    ///   - body: the function. It is called on whatever thread uses the connection, never on two at a time.
    /// - Throws: ``DatabaseError`` if the name is too long, or a function with this name and number of arguments is running.
    @inlinable
    public func addFunction<each Argument: SQLValueConvertible, Result: SQLValueConvertible>(
        _ name: String, _ options: FunctionOptions = [], _ body: @escaping (repeat each Argument) throws -> Result
    ) throws(DatabaseError) {
        var count: Int32 = 0
        for _ in repeat (each Argument).self { count += 1 }
        try register(name, count, options) { arguments, result, dates in
            var index = -1
            func next() -> Int {
                index += 1
                return index
            }
            let value = try body(repeat arguments.get(next(), as: (each Argument).self))
            try result.set(value, dates)
        }
    }

    /// Makes a closure callable from SQL, with any number of arguments, or with arguments of any type.
    /// ```swift
    /// try db.addFunction("longest", arguments: nil, .deterministic) { arguments in
    ///     var longest = ""
    ///     for index in 0..<arguments.count {
    ///         let text: String = try arguments[index]
    ///         if text.count > longest.count { longest = text }
    ///     }
    ///     return longest
    /// }
    /// ```
    /// - Parameters:
    ///   - name: the function's name.
    ///   - arguments: how many it takes; nil for any number.
    ///   - options: what SQLite may assume. Default: nothing.
    ///   - body: the function; see the other form for its errors.
    /// - Throws: ``DatabaseError`` if the name is too long, the number is over 1,000, or such a function is running.
    @inlinable
    public func addFunction<Result: SQLValueConvertible>(
        _ name: String, arguments: Int?, _ options: FunctionOptions = [],
        _ body: @escaping (borrowing FunctionArguments) throws -> Result
    ) throws(DatabaseError) {
        let count = try argumentCount(arguments)
        try register(name, count, options) { arguments, result, dates in try result.set(body(arguments), dates) }
    }

    /// Removes a function, scalar or aggregate; one of SQLite's own comes back if it was replaced.
    /// - Parameters:
    ///   - name: its name.
    ///   - arguments: how many it takes, as it was added; nil for any number.
    /// - Throws: ``DatabaseError`` while it is running.
    public func removeFunction(_ name: String, arguments: Int?) throws(DatabaseError) {
        let count = try argumentCount(arguments)
        try check(sqlite3_create_function_v2(liveOutsideHooks(), name, count, SQLITE_UTF8, nil, nil, nil, nil, nil))
    }

    /// -1 stands for any number.
    @usableFromInline
    func argumentCount(_ count: Int?) throws(DatabaseError) -> Int32 {
        guard let count else { return -1 }
        guard count >= 0, let number = Int32(exactly: count) else { throw .invalidArgument("a function of \(count) arguments") }
        return number
    }

    @usableFromInline
    func register(
        _ name: String, _ count: Int32, _ options: FunctionOptions,
        _ body: @escaping (borrowing FunctionArguments, FunctionResult, DateStrategy) throws -> Void
    ) throws(DatabaseError) {
        let handle = try liveOutsideHooks()
        let function = ScalarFunction(name, self, body)
        // SQLite lets go of the box when the function is replaced, when the connection closes, and when this very call fails.
        let rc = sqlite3_create_function_v2(
            handle, function.name, count, SQLITE_UTF8 | options.rawValue, Unmanaged.passRetained(function).toOpaque(),
            { context, count, values in
                guard let context, let data = sqlite3_user_data(context) else { return }
                Unmanaged<ScalarFunction>.fromOpaque(data).takeUnretainedValue().call(context, count, values)
            }, nil, nil,
            { pointer in if let pointer { Unmanaged<ScalarFunction>.fromOpaque(pointer).release() } })
        try check(rc)
    }
}
