import CSQLCipher

/// An addition to a connection's SQL: a function, a collation or a tokenizer.
///
/// A static function creates it, and ``Connection/register(_:)`` registers it:
/// ```swift
/// try db.register(.function("half") { (x: Double) in x / 2 })
/// try db.register(.unicodeCollationIgnoringCase)
/// try db.unregister(.function("half", arguments: 1))
/// ```
/// An extension belongs to one connection. For a queue or a pool, register it in ``DatabaseConfiguration/prepareDatabase``, or with
/// the method of the same name of the queue or the pool, so that every connection has it.
public struct SQLExtension {
    let install: (Connection) throws -> Void

    package init(install: @escaping (Connection) throws -> Void) { self.install = install }

    /// The name by which an extension is removed.
    public enum Name: Hashable, Sendable {
        /// A function, scalar or aggregate, by its name and the number of arguments it was registered with; nil for any number.
        case function(String, arguments: Int?)
        /// A collation by its name.
        case collation(String)
    }
}

extension Connection {
    /// Adds an extension to the connection's SQL, or replaces the extension with the same name.
    /// - Throws: ``DatabaseError`` if the name is not valid, or while a statement that uses an extension with that name is running;
    ///   ``DatabaseError/Reason/misuse`` inside a hook.
    public func register(_ item: SQLExtension) throws {
        try refuseIfOneOfMany("register(_:)", "register(_:) of the pool")
        try item.install(self)
        // SQLite decides whether a schema may call a function when it reads the schema, and cannot for a function that is unknown
        // then.
        if try !settings.isEnabled(.trustedSchema) { try execute("PRAGMA writable_schema = RESET") }
    }

    /// Removes a function or a collation. If it had replaced a function or a collation of SQLite, SQLite's version is restored. An
    /// unknown name is ignored.
    /// - Throws: ``DatabaseError`` while a statement that uses it is running, ``DatabaseError/Reason/invalidArgument`` for a
    ///   negative number of arguments or a name with a NUL character, or ``DatabaseError/Reason/misuse`` inside a hook.
    public func unregister(_ name: SQLExtension.Name) throws {
        try refuseIfOneOfMany("unregister(_:)", "unregister(_:) of the pool")
        switch name {
        case .function(let name, let arguments):
            try defineFunction(name, try SQLExtension.argumentCount(arguments)) { handle, count in
                sqlite3_create_function_v2(handle, name, count, SQLITE_UTF8, nil, nil, nil, nil, nil)
            }
        case .collation(let name):
            try check(sqlcipherkit_remove_collation(liveOutsideHooks(), name.cName("the name of a collation")))
        }
    }

    /// Registers or removes a function with `create`, so that a function of SQLite's is hidden only while a replacement exists.
    fileprivate func defineFunction(
        _ name: String, _ count: Int32, _ create: (OpaquePointer, Int32) throws -> Int32
    ) throws {
        let name = try name.cName("the name of a function")
        if name.utf8.count > 255 { throw DatabaseError.invalidArgument("the name of a function has more than 255 bytes") }
        let handle = try liveOutsideHooks()
        sqlcipherkit_hide_removed_function(handle, name, count, 0)
        defer { sqlcipherkit_hide_removed_function(handle, name, count, 1) }
        try check(create(handle, count))
    }
}

extension SQLExtension {
    /// Returns -1 for any number.
    static func argumentCount(_ count: Int?) throws -> Int32 {
        guard let count else { return -1 }
        guard count >= 0, let number = Int32(exactly: count) else {
            throw DatabaseError.invalidArgument("a function cannot have \(count) arguments")
        }
        return number
    }
}

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
    /// the ``DatabaseError/underlyingError`` of an error with the reason ``DatabaseError/Reason/callback``. The closure may use the
    /// connection, but not the statement that calls it. The closure is kept until the connection closes, so it should capture the
    /// connection as `weak` or `unowned`.
    ///
    /// Registering throws ``DatabaseError`` if the name is too long or has a NUL character, or a function with this name and number
    /// of arguments is running.
    /// - Parameters:
    ///   - name: the function's name; replaces a function of SQLite's with the same name and number of arguments.
    ///   - options: the properties that SQLite may rely on. Default: none.
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
    ///   - options: the properties that SQLite may rely on. Default: none.
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
        self.init { connection in
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

/// The state of one group of an aggregate, with its type erased.
class AggregateState {
    /// True if a call has failed: then SQLite only asks to release the state.
    var hasFailed = false

    func step(_ arguments: borrowing FunctionArguments) throws {}
    func inverse(_ arguments: borrowing FunctionArguments) throws {}
    func value(_ result: FunctionResult, _ profile: ValueProfile) throws {}
    func finish(_ result: FunctionResult, _ profile: ValueProfile) throws {}
}

private class TypedState<A: SQLAggregate>: AggregateState {
    var aggregate: A

    init(_ aggregate: A) { self.aggregate = aggregate }

    override func step(_ arguments: borrowing FunctionArguments) throws { try aggregate.step(arguments) }
    override func finish(_ result: FunctionResult, _ profile: ValueProfile) throws { try result.set(aggregate.finish(), profile) }
}

private final class WindowState<W: SQLWindowFunction>: TypedState<W> {
    override func inverse(_ arguments: borrowing FunctionArguments) throws { try aggregate.inverse(arguments) }
    override func value(_ result: FunctionResult, _ profile: ValueProfile) throws { try result.set(aggregate.value(), profile) }
}

/// A user's aggregate as SQLite stores it.
final class AggregateFunction {
    let name: String
    let make: () throws -> AggregateState
    // SQLite calls functions only in calls on the connection, which keep it alive; the last group is released before it closes.
    unowned(unsafe) let connection: Connection

    init(_ name: String, _ connection: Connection, _ make: @escaping () throws -> AggregateState) {
        self.name = name
        self.connection = connection
        self.make = make
    }

    static func of(_ context: OpaquePointer) -> AggregateFunction? {
        sqlite3_user_data(context).map { Unmanaged<AggregateFunction>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Where SQLite stores the state of the current group: a pointer, zero for a new group. SQLite frees the slot, not the state.
    private func slot(_ context: OpaquePointer) -> UnsafeMutablePointer<UnsafeMutableRawPointer?>? {
        sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeMutableRawPointer?>.size))?
            .assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
    }

    private func state(_ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>) throws -> AggregateState {
        if let pointer = slot.pointee { return Unmanaged<AggregateState>.fromOpaque(pointer).takeUnretainedValue() }
        let state = try make()
        slot.pointee = Unmanaged.passRetained(state).toOpaque()
        return state
    }

    func step(_ context: OpaquePointer, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?, inverse: Bool) {
        run(context) { state, _ in
            if inverse {
                try state.inverse(FunctionArguments(count, values, connection.profile))
            } else {
                try state.step(FunctionArguments(count, values, connection.profile))
            }
        }
    }

    func value(_ context: OpaquePointer) {
        run(context) { state, result in try state.value(result, connection.profile) }
    }

    /// SQLite calls this once for each group, including a group without rows and one whose statement was interrupted.
    func finish(_ context: OpaquePointer) {
        var state: AggregateState?
        // With 0 bytes, SQLite allocates no slot for a group that has none.
        if let slot = sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) {
            if let pointer = slot.pointee { state = Unmanaged<AggregateState>.fromOpaque(pointer).takeRetainedValue() }
            slot.pointee = nil
        }
        if state?.hasFailed == true { return }
        connection.inFunction {
            let result = FunctionResult(context: context)
            do {
                try (state ?? make()).finish(result, connection.profile)
            } catch {
                result.fail(error, in: name, connection)
            }
        }
    }

    private func run(_ context: OpaquePointer, _ body: (AggregateState, FunctionResult) throws -> Void) {
        guard let slot = slot(context) else { return sqlite3_result_error_nomem(context) }
        connection.inFunction {
            let result = FunctionResult(context: context)
            var state: AggregateState?
            do {
                let found = try self.state(slot)
                state = found
                try body(found, result)
                if !connection.isOpen { throw DatabaseError.closedConnection }
            } catch {
                state?.hasFailed = true
                result.fail(error, in: name, connection)
            }
        }
    }
}

extension SQLExtension {
    /// Creates an extension for an aggregate function (<https://sqlite.org/appfunc.html>).
    ///
    /// Registering throws ``DatabaseError`` if the name is too long or has a NUL character, the number of arguments is over 1,000,
    /// or a function with this name and number of arguments is running.
    /// - Parameters:
    ///   - name: the function's name.
    ///   - arguments: the number of arguments; nil for any number.
    ///   - options: the properties that SQLite may rely on. Default: none.
    ///   - make: creates the value that accumulates a group. Errors thrown by `make` and by the value's methods end the statement
    ///     and reach its caller, like those of scalar functions.
    public static func aggregate<A: SQLAggregate>(
        _ name: String, arguments: Int?, _ options: FunctionOptions = [], _ make: @escaping () throws -> A
    ) -> SQLExtension {
        SQLExtension(aggregate: name, arguments, options, isWindow: false) { TypedState(try make()) }
    }

    /// Creates an extension for an aggregate function that can also be used with `OVER`.
    ///
    /// Registering throws ``DatabaseError`` if the name is too long or has a NUL character, the number of arguments is over 1,000,
    /// or a function with this name and number of arguments is running.
    /// - Parameters: as for ``aggregate(_:arguments:_:_:)``.
    public static func windowFunction<W: SQLWindowFunction>(
        _ name: String, arguments: Int?, _ options: FunctionOptions = [], _ make: @escaping () throws -> W
    ) -> SQLExtension {
        SQLExtension(aggregate: name, arguments, options, isWindow: true) { WindowState(try make()) }
    }

    private init(
        aggregate name: String, _ arguments: Int?, _ options: FunctionOptions, isWindow: Bool,
        _ make: @escaping () throws -> AggregateState
    ) {
        self.init { connection in
            let count = try Self.argumentCount(arguments)
            try connection.install(AggregateFunction(name, connection, make), count, options, isWindow: isWindow)
        }
    }
}

extension Connection {
    fileprivate func install(
        _ function: AggregateFunction, _ count: Int32, _ options: FunctionOptions, isWindow: Bool
    ) throws {
        typealias Step = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
        typealias Finish = @convention(c) (OpaquePointer?) -> Void
        let step: Step = { context, count, values in
            if let context { AggregateFunction.of(context)?.step(context, count, values, inverse: false) }
        }
        let inverse: Step = { context, count, values in
            if let context { AggregateFunction.of(context)?.step(context, count, values, inverse: true) }
        }
        let value: Finish = { context in if let context { AggregateFunction.of(context)?.value(context) } }
        let finish: Finish = { context in if let context { AggregateFunction.of(context)?.finish(context) } }
        try defineFunction(function.name, count) { handle, count in
            // Without `value` and `inverse` SQLite refuses OVER for the function.
            sqlite3_create_window_function(
                handle, function.name, count, SQLITE_UTF8 | options.rawValue, Unmanaged.passRetained(function).toOpaque(), step,
                finish, isWindow ? value : nil, isWindow ? inverse : nil,
                { pointer in if let pointer { Unmanaged<AggregateFunction>.fromOpaque(pointer).release() } })
        }
    }
}
