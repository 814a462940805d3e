import CSQLCipher

/// The state of one group of an aggregate, with its type erased.
class AggregateState {
    /// Whether a call has failed: then SQLite only asks to release the state.
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
    ///   - options: what SQLite may assume. Default: nothing.
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
        self.init { connection throws(DatabaseError) in
            let count = try Self.argumentCount(arguments)
            try connection.install(AggregateFunction(name, connection, make), count, options, isWindow: isWindow)
        }
    }
}

extension Connection {
    fileprivate func install(
        _ function: AggregateFunction, _ count: Int32, _ options: FunctionOptions, isWindow: Bool
    ) throws(DatabaseError) {
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
