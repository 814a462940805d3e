import SQLCipherKitCore

// The names of GRDB, SQLite.swift, SwiftData and first guesses, so that the compiler's error names the call that this package has.
// None of them can be called, and the compiler leaves them out of the documentation and of the list of symbols. A name of another
// module that is available hides them. Tests/Guesses has what people write, and GuessTests what the compiler has to answer.

extension Connection {
    @available(*, unavailable, message: "name the file: Connection(.file(path), key: .passphrase(…))")
    public convenience init(_ path: String, key: Encryption? = nil, readonly: Bool = false) throws { try self.init(.memory) }

    @available(*, unavailable, message: "a passphrase is .passphrase(…), and a key of 32 bytes .raw(…)")
    public convenience init(_ location: DatabaseLocation, key: String) throws { try self.init(.memory) }

    @available(*, unavailable, renamed: "execute(_:_:)")
    public func execute(sql: String, arguments: StatementArguments = []) throws {}

    @available(*, unavailable, message: "execute(_:_:) binds interpolated values: db.execute(\"… \\(value)\")")
    public func execute(literal sql: SQL) throws {}

    @available(*, unavailable, message: "execute(_:_:) takes the values in an array, or interpolated: db.execute(\"… \\(value)\")")
    public func run(_ sql: SQL, _ values: (any SQLValueConvertible)?...) throws {}

    @available(*, unavailable, message: "use fetchOne(Int.self, \"SELECT …\")")
    public func scalar(_ sql: SQL, _ values: (any SQLValueConvertible)?...) throws -> SQLValue { throw DatabaseError.elsewhere }

    @available(*, unavailable, message: "use forEach(\"SELECT …\") { row in … }, or fetchAll(String.self, \"SELECT …\")")
    public func prepare(_ sql: SQL, _ values: (any SQLValueConvertible)?...) throws -> [[SQLValue]] { [] }

    @available(*, unavailable, message: "use prepare(_:)")
    public func makeStatement(sql: String) throws -> Statement { throw DatabaseError.elsewhere }

    @available(*, unavailable, message: "the closure gets the connection: transaction { db in … }")
    public func transaction(_ body: () throws -> Void) throws {}

    @available(*, unavailable, message: "the closure gets the connection: savepoint { db in … }")
    public func savepoint(_ body: () throws -> Void) throws {}

    @available(*, unavailable, message: "use transaction { db in … }, which commits when the closure returns")
    public func inTransaction(_ body: () throws -> NamesElsewhere.TransactionCompletion) throws {}

    @available(*, unavailable, message: "use savepoint { db in … }, which keeps the changes when the closure returns")
    public func inSavepoint(_ body: () throws -> NamesElsewhere.TransactionCompletion) throws {}

    @available(*, unavailable, renamed: "lastInsertedRowID")
    public var lastInsertRowid: Int64 { 0 }

    @available(*, unavailable, renamed: "changes")
    public var changesCount: Int { 0 }

    @available(*, unavailable, renamed: "totalChanges")
    public var totalChangesCount: Int { 0 }

    @available(*, unavailable, message: "use settings.setBusyTimeout(_:), or DatabaseConfiguration.busyTimeout")
    public var busyTimeout: Double {
        get { 0 }
        set {}
    }

    @available(*, unavailable, message: "use main.userVersion and main.setUserVersion(_:)")
    public var userVersion: Int32 {
        get { 0 }
        set {}
    }

    @available(*, unavailable, renamed: "addTraceHook(_:)")
    public func trace(_ body: ((String) -> Void)?) {}

    @available(*, unavailable, message: "use register(.function(\"name\") { (x: Int) in … })")
    public func createFunction(
        _ name: String, argumentCount: UInt? = nil, deterministic: Bool = false,
        _ body: @escaping ([SQLValue?]) -> (any SQLValueConvertible)?
    ) throws {}

    @available(*, unavailable, message: "use register(.function(\"name\") { (x: Int) in … })")
    public func add(function: SQLExtension) {}

    @available(*, unavailable, message: "give the key when you open: Connection(.file(path), key: .passphrase(…))")
    public func key(_ key: String) throws {}

    @available(*, unavailable, message: "give the key when you open: Connection(.file(path), key: .passphrase(…))")
    public func usePassphrase(_ passphrase: String) throws {}

    @available(*, unavailable, message: "use changeKey(to: .passphrase(…))")
    public func rekey(_ key: String) throws {}

    @available(*, unavailable, message: "use changeKey(to: .passphrase(…))")
    public func changePassphrase(_ passphrase: String) throws {}

    @available(*, unavailable, message: "use main.table(name), which is nil if there is none")
    public func tableExists(_ name: String) throws -> Bool { false }

    @available(*, unavailable, message: "use main.columns(of: table)")
    public func columns(in table: String) throws -> [Schema.Column] { [] }

    @available(*, unavailable, message: "use main.dropTable(_:)")
    public func drop(table: String) throws {}
}

extension DatabaseLocation {
    @available(*, unavailable, renamed: "memory")
    public static var inMemory: DatabaseLocation { .memory }
}

extension Statement {
    @available(*, unavailable, message: "use execute([…])")
    public func run(_ values: (any SQLValueConvertible)?...) throws {}

    @available(*, unavailable, message: "use execute([…])")
    public func execute(arguments: StatementArguments) throws {}
}

extension Row {
    @available(*, unavailable, message: "db.forEach(\"SELECT …\") { row in … }, or db.fetchAll((Int, String).self, \"SELECT …\")")
    public static func fetchAll(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> [[SQLValue]] { [] }

    @available(*, unavailable, message: "db.fetchOne((Int, String).self, \"SELECT …\"), or db.forEach(\"SELECT …\") { row in … }")
    public static func fetchOne(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> [SQLValue]? { nil }

    @available(*, unavailable, message: "use db.forEach(\"SELECT …\") { row in … }, or db.cursor(Int.self, \"SELECT …\")")
    public static func fetchCursor(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> RowCursor<Int> {
        throw DatabaseError.elsewhere
    }
}

extension SQLValueConvertible {
    @available(*, unavailable, message: "use db.fetchAll(String.self, \"SELECT …\")")
    public static func fetchAll(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> [Self] { [] }

    @available(*, unavailable, message: "use db.fetchOne(Int.self, \"SELECT …\")")
    public static func fetchOne(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> Self? { nil }
}

extension DatabaseError {
    @available(*, unavailable, renamed: "code")
    public var resultCode: ResultCode { code }

    @available(*, unavailable, renamed: "code")
    public var extendedResultCode: ResultCode { code }

    @available(*, unavailable, message: "catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase")
    public static var wrongKey: DatabaseError { elsewhere }

    /// What the bodies of unavailable functions throw. Nothing calls them.
    fileprivate static var elsewhere: DatabaseError { misuse("this is not available") }
}

extension ResultCode {
    @available(*, unavailable, renamed: "constraint")
    public static var SQLITE_CONSTRAINT: ResultCode { .constraint }

    @available(*, unavailable, renamed: "constraintUnique")
    public static var SQLITE_CONSTRAINT_UNIQUE: ResultCode { .constraintUnique }

    @available(*, unavailable, renamed: "busy")
    public static var SQLITE_BUSY: ResultCode { .busy }
}

extension DatabaseQueue {
    @available(*, unavailable, message: "name the file: DatabaseQueue(.file(path), key: .passphrase(…))")
    public convenience init(
        path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws { try self.init(.memory) }

    @available(*, unavailable, message: "name the file: DatabaseQueue(.file(path), key: .passphrase(…))")
    public convenience init(_ path: String, key: Encryption? = nil) throws { try self.init(.memory) }

    @available(*, unavailable, message: "a passphrase is .passphrase(…), and a key of 32 bytes .raw(…)")
    public convenience init(_ location: DatabaseLocation, key: String) throws { try self.init(.memory) }

    @available(*, unavailable, message: "use DatabaseQueue(.memory)")
    public convenience init() throws { try self.init(.memory) }
}

extension DatabasePool {
    @available(*, unavailable, message: "name the file: DatabasePool(.file(path), key: .passphrase(…))")
    public convenience init(
        path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws { try self.init(.memory) }

    @available(*, unavailable, message: "name the file: DatabasePool(.file(path), key: .passphrase(…))")
    public convenience init(_ path: String, key: Encryption? = nil) throws { try self.init(.memory) }

    @available(*, unavailable, message: "a passphrase is .passphrase(…), and a key of 32 bytes .raw(…)")
    public convenience init(_ location: DatabaseLocation, key: String) throws { try self.init(.memory) }
}

extension SharedDatabase {
    @available(*, unavailable, message: "use read { db in try db.fetchAll(…) }")
    public func fetchAll<T>(_ request: T) throws -> [Never] { [] }

    @available(*, unavailable, message: "use read { db in try db.fetchOne(…) }")
    public func fetchOne<T>(_ request: T) throws -> Never? { nil }

    @available(*, unavailable, message: "use write { db in try db.insert(…) }")
    public func insert<T>(_ record: T) throws {}

    @available(*, unavailable, message: "use write { db in try db.update(…) }")
    public func update<T>(_ record: T) throws {}

    @available(*, unavailable, message: "use write { db in try db.delete(…) }")
    public func delete<T>(_ record: T) throws {}

    @available(*, unavailable, message: "use write { db in try db.execute(…) }")
    public func execute(_ sql: SQL, _ arguments: StatementArguments = []) throws {}

    @available(*, unavailable, renamed: "write(_:)", message: "a write is a transaction: write { db in … }")
    public func transaction<R>(_ body: (Connection) throws -> R) throws {}

    @available(*, unavailable, message: "use read { db in try db.fullText(table).search(text) }")
    public func search(_ table: String, for text: String) throws -> [Never] { [] }

    @available(*, unavailable, renamed: "withWriter(_:)")
    public func writeWithoutTransaction<R>(_ body: (Connection) throws -> R) throws -> R { throw DatabaseError.elsewhere }

    @available(*, unavailable, message: "use write { db in … }, or withWriter { db in … } outside a transaction")
    public func inDatabase<R>(_ body: (Connection) throws -> R) throws -> R { throw DatabaseError.elsewhere }

    @available(*, unavailable, message: "use write { db in … } in a task: Task { try await queue.write { db in … } }")
    public func asyncWrite<R>(
        _ updates: @escaping @Sendable (Connection) throws -> R,
        completion: @escaping @Sendable (Connection, Result<R, any Error>) -> Void
    ) {}

    @available(*, unavailable, message: "use main.backup(toFileAt: path)")
    public func backup(to other: SharedDatabase) throws {}

    @available(*, unavailable, message: "use withWriter { db in try db.main.vacuum() }")
    public func vacuum() throws {}
}

extension DatabasePool {
    @available(*, unavailable, renamed: "snapshot()")
    public func makeSnapshot() throws -> DatabaseSnapshot { throw DatabaseError.elsewhere }
}

@available(*, unavailable, renamed: "Connection")
public typealias Database = Connection
@available(*, unavailable, renamed: "SharedDatabase")
public typealias DatabaseWriter = SharedDatabase
@available(*, unavailable, renamed: "DatabaseConfiguration")
public typealias Configuration = DatabaseConfiguration
@available(*, unavailable, renamed: "SQLValue")
public typealias DatabaseValue = SQLValue
@available(*, unavailable, renamed: "SQLValueConvertible")
public typealias DatabaseValueConvertible = SQLValueConvertible

extension DatabaseConfiguration {
    @available(*, unavailable, message: "the key is an argument of opening; for the rest, set prepare = { db in … }")
    public mutating func prepareDatabase(_ body: @escaping @Sendable (Connection) throws -> Void) {}

    @available(*, unavailable, renamed: "enforcesForeignKeys")
    public var foreignKeysEnabled: Bool {
        get { true }
        set {}
    }

    @available(*, unavailable, message: "use access = .readOnly")
    public var readonly: Bool {
        get { false }
        set {}
    }
}

@available(*, unavailable, message: "use observe { db in … } of the queue or pool, or a LiveQuery in a view")
public enum ValueObservation {
    public static func tracking<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        fatalError("this is not available")
    }
}

extension DatabaseObservation {
    @available(*, unavailable, message: "queue.observe { db in … }.start { value in … }")
    public func start(
        in database: SharedDatabase, onError: @escaping (any Error) -> Void, onChange: @escaping (Element) -> Void
    ) -> ObservationToken { ObservationToken(nil) }

    @available(*, unavailable, message: "for try await value in queue.observe { db in … }")
    public func values(in database: SharedDatabase) -> DatabaseObservation { self }
}

@available(*, unavailable, message: "use SQLExtension.function: db.register(.function(\"name\") { (x: Int) in … })")
public func DatabaseFunction(
    _ name: String, argumentCount: Int? = nil, pure: Bool = false,
    _ body: @escaping ([SQLValue]) throws -> (any SQLValueConvertible)?
) -> SQLExtension { .function(name, arguments: argumentCount) { _ in 0 } }

/// The types that the signatures of this file need.
@available(*, unavailable)
public enum NamesElsewhere {
    public enum TransactionCompletion { case commit, rollback }
}
