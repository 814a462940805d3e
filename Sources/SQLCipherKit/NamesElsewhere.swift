// The names of GRDB and SQLite.swift that newcomers type first, and a few guesses, so that the compiler's error names the call that
// this package has. None of them can be called, and the compiler leaves them out of the documentation and of the list of symbols. A
// name of another module that is available hides them. Tests/Guesses has the code, and GuessTests the errors.

func unavailable() -> Never { fatalError("this is not available") }

@available(*, unavailable, renamed: "Connection")
public typealias Database = Connection
@available(*, unavailable, renamed: "DatabaseConfiguration")
public typealias Configuration = DatabaseConfiguration
@available(*, unavailable, renamed: "SQLValueConvertible")
public typealias DatabaseValueConvertible = SQLValueConvertible
@available(*, unavailable, renamed: "SQLRecord")
public typealias FetchableRecord = SQLRecord
@available(*, unavailable, renamed: "SQLRecord")
public typealias PersistableRecord = SQLRecord
@available(*, unavailable, renamed: "SQLRecord")
public typealias MutablePersistableRecord = SQLRecord
@available(*, unavailable, renamed: "SQLRecord")
public typealias TableRecord = SQLRecord
@available(*, unavailable, renamed: "Migrator")
public typealias DatabaseMigrator = Migrator
@available(*, unavailable, message: "search(text) of db.fullText(table) takes what people type; FTS5Query is for FTS5's own syntax")
public typealias FTS5Pattern = FTS5Query

@available(*, unavailable, message: "use observe { db in … } of the queue or pool, or a LiveQuery in a view")
public enum ValueObservation {
    public static func tracking<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        unavailable()
    }
}

extension DatabaseObservation {
    @available(*, unavailable, message: "use observe { db in … }: for try await value in queue.observe { db in … }")
    public func values(in database: DatabaseWriter) -> DatabaseObservation { unavailable() }
}

extension FTS5Query {
    @available(*, unavailable, message: "search(text) of db.fullText(table) finds words by their beginnings")
    public init(matchingAllPrefixesIn text: String) { unavailable() }
}

@available(*, unavailable, message: "a column is a property in a closure: Player.filter { $0.score > 3 }")
public func Column<T>(_ name: String) -> SQLExpression<T> { unavailable() }

@_disfavoredOverload
@available(*, unavailable, message: "a column is a property in a closure: Player.order { $0.score.descending }")
public func Column(_ name: String) -> SQLExpression<Int> { unavailable() }

extension DatabaseLocation {
    @available(*, unavailable, renamed: "memory")
    public static var inMemory: DatabaseLocation { unavailable() }
}

extension DatabaseConfiguration {
    @available(*, unavailable, message: "the key is an argument of opening; for the rest, set prepareDatabase = { db in … }")
    public mutating func prepareDatabase(_ body: @escaping @Sendable (Connection) throws -> Void) {}
}

extension Connection {
    @available(*, unavailable, message: "name the file: Connection(.file(path), key: .passphrase(…))")
    public convenience init(_ path: String, key: DatabaseKey? = nil, readonly: Bool = false) throws { unavailable() }

    @available(*, unavailable, message: "a passphrase is .passphrase(…), and a key of 32 bytes .raw(…)")
    public convenience init(_ location: DatabaseLocation, key: String) throws { unavailable() }

    @available(*, unavailable, message: "give the key when you open: Connection(.file(path), key: .passphrase(…))")
    public func key(_ key: String) throws {}

    @available(*, unavailable, message: "give the key when you open: Connection(.file(path), key: .passphrase(…))")
    public func usePassphrase(_ passphrase: String) throws {}

    @available(*, unavailable, message: "use changeKey(to: .passphrase(…))")
    public func rekey(_ key: String) throws {}

    @available(*, unavailable, message: "use changeKey(to: .passphrase(…))")
    public func changePassphrase(_ passphrase: String) throws {}

    @available(*, unavailable, renamed: "execute(_:_:)")
    public func execute(sql: String, arguments: StatementArguments = []) throws {}

    @available(*, unavailable, message: "execute(_:_:) takes the values in an array, or interpolated: db.execute(\"… \\(value)\")")
    public func run(_ sql: SQL, _ values: (any SQLValueConvertible)?...) throws {}

    @available(*, unavailable, message: "use fetchOne(Int.self, \"SELECT …\")")
    public func scalar(_ sql: SQL, _ values: (any SQLValueConvertible)?...) throws -> SQLValue { unavailable() }

    @available(*, unavailable, message: "use forEach(\"SELECT …\") { row in … }, or fetchAll(String.self, \"SELECT …\")")
    public func prepare(_ sql: SQL, _ values: (any SQLValueConvertible)?...) throws -> [[SQLValue]] { unavailable() }

    @available(*, unavailable, renamed: "lastInsertedRowID")
    public var lastInsertRowid: Int64 { unavailable() }

    @available(*, unavailable, message: "the closure gets the connection: transaction { db in … }")
    public func transaction(_ body: () throws -> Void) throws {}

    @available(*, unavailable, message: "use transaction { db in … }, which commits when the closure returns")
    public func inTransaction(_ body: () throws -> NamesElsewhere.TransactionCompletion) throws {}

    @available(*, unavailable, message: "use fetchAll(Player.all)")
    public func fetchAll<Record: SQLRecord>(_ type: Record.Type) throws -> [Record] { unavailable() }

    @available(*, unavailable, renamed: "count(_:)")
    public func fetchCount<T>(_ request: T) throws -> Int { unavailable() }

    @available(*, unavailable, message: "use count(Player.all)")
    public func count<Record: SQLRecord>(_ type: Record.Type) throws -> Int { unavailable() }

    @available(*, unavailable, renamed: "deleteAll(_:)")
    public func delete<Record: SQLRecord>(_ query: SQLQuery<Record>) throws {}

    @available(*, unavailable, renamed: "deleteAll(_:)")
    public func delete<Record: SQLRecord>(_ type: Record.Type) throws {}

    @available(*, unavailable, message: "use exists(Player.all)")
    public func exists<Record: SQLRecord>(_ type: Record.Type) throws -> Bool { unavailable() }

    @available(*, unavailable, message: "use fetchOne(Player.all)")
    public func fetchOne<Record: SQLRecord>(_ type: Record.Type) throws -> Record? { unavailable() }

    @available(*, unavailable, message: "create(SQLTable(\"player\") { … }), or create(Player.table)")
    public func create(table: String, _ body: (NamesElsewhere.TableDefinition) throws -> Void) throws {}
}

extension Statement {
    @available(*, unavailable, message: "use execute([…])")
    public func run(_ values: (any SQLValueConvertible)?...) throws {}
}

extension Row {
    @available(*, unavailable, message: "db.forEach(\"SELECT …\") { row in … }, or db.fetchAll((Int, String).self, \"SELECT …\")")
    public static func fetchAll(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> [[SQLValue]] {
        unavailable()
    }

    @available(*, unavailable, message: "db.fetchOne((Int, String).self, \"SELECT …\"), or db.forEach(\"SELECT …\") { row in … }")
    public static func fetchOne(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> [SQLValue]? {
        unavailable()
    }
}

extension SQLValueConvertible {
    @available(*, unavailable, message: "use db.fetchAll(String.self, \"SELECT …\")")
    public static func fetchAll(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> [Self] {
        unavailable()
    }

    @available(*, unavailable, message: "use db.fetchOne(Int.self, \"SELECT …\")")
    public static func fetchOne(_ db: Connection, sql: String, arguments: StatementArguments = []) throws -> Self? { unavailable() }
}

extension DatabaseQueue {
    @available(*, unavailable, message: "name the file: DatabaseQueue(.file(path), key: .passphrase(…))")
    public convenience init(path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws { unavailable() }

    @available(*, unavailable, message: "name the file: DatabaseQueue(.file(path), key: .passphrase(…))")
    public convenience init(_ path: String, key: DatabaseKey? = nil) throws { unavailable() }

    @available(*, unavailable, message: "a passphrase is .passphrase(…), and a key of 32 bytes .raw(…)")
    public convenience init(_ location: DatabaseLocation, key: String) throws { unavailable() }

    @available(*, unavailable, message: "use DatabaseQueue(.memory)")
    public convenience init() throws { unavailable() }
}

extension DatabasePool {
    @available(*, unavailable, message: "name the file: DatabasePool(.file(path), key: .passphrase(…))")
    public convenience init(path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()) throws { unavailable() }

    @available(*, unavailable, message: "name the file: DatabasePool(.file(path), key: .passphrase(…))")
    public convenience init(_ path: String, key: DatabaseKey? = nil) throws { unavailable() }

    @available(*, unavailable, message: "a passphrase is .passphrase(…), and a key of 32 bytes .raw(…)")
    public convenience init(_ location: DatabaseLocation, key: String) throws { unavailable() }
}

extension DatabaseWriter {
    @available(*, unavailable, message: "use read { db in try db.fetchAll(…) }")
    public func fetchAll<T>(_ request: T) throws -> [Never] { unavailable() }

    @available(*, unavailable, message: "use write { db in try db.insert(…) }")
    public func insert<T>(_ record: T) throws {}

    @available(*, unavailable, message: "use write { db in try db.execute(…) }")
    public func execute(_ sql: SQL, _ arguments: StatementArguments = []) throws {}

    @available(*, unavailable, message: "use main.backup(toFileAt: path)")
    public func backup(to destination: DatabaseLocation, key: DatabaseKey? = nil) throws {}

    @available(*, unavailable, message: "use main.backup(toFileAt: path)")
    public func backup(to destination: DatabaseWriter) throws {}

    @available(*, unavailable, message: "use main.restore(fromFileAt: path)")
    public func restore(from source: DatabaseLocation, key: DatabaseKey? = nil) throws {}

    @available(*, unavailable, message: "use main.checkpoint()")
    public func checkpoint(_ mode: CheckpointMode = .passive) throws {}

    @available(*, unavailable, message: "use write { db in … }, or writeWithoutTransaction { db in … }")
    public func inDatabase<R>(_ body: (Connection) throws -> R) throws -> R { unavailable() }
}

extension Migrator {
    @available(*, unavailable, renamed: "add(_:_:)")
    public mutating func registerMigration(_ name: String, _ body: @escaping @Sendable (Connection) throws -> Void) {}
}

extension SQLRecord {
    @available(*, unavailable, message: "use db.fetchAll(Player.all)")
    public static func fetchAll(_ db: Connection) throws -> [Self] { unavailable() }

    @available(*, unavailable, message: "use db.fetchOne(Player.self, id: id)")
    public static func fetchOne<ID>(_ db: Connection, key: ID) throws -> Self? { unavailable() }

    @available(*, unavailable, message: "use db.fetchOne(Player.self, id: id)")
    public static func fetchOne<ID>(_ db: Connection, id: ID) throws -> Self? { unavailable() }

    @available(*, unavailable, message: "use db.find(Player.self, id: id)")
    public static func find<ID>(_ db: Connection, id: ID) throws -> Self { unavailable() }

    @available(*, unavailable, message: "use db.count(Player.all)")
    public static func fetchCount(_ db: Connection) throws -> Int { unavailable() }

    @available(*, unavailable, message: "use db.deleteAll(Player.all)")
    public static func deleteAll(_ db: Connection) throws {}

    @available(*, unavailable, message: "db.insert(player), or db.insert(&player) to receive its id")
    public mutating func insert(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.update(player)")
    public func update(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.save(&player)")
    public mutating func save(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.delete(player)")
    public func delete(_ db: Connection) throws {}

    @available(*, unavailable, message: "use filter { $0.score > 3 }")
    public static func filter(_ condition: SQLPredicate) -> SQLQuery<Self> { unavailable() }

    @available(*, unavailable, message: "use order { $0.score.descending }, or order(\\.score)")
    public static func order(_ terms: SQLOrdering...) -> SQLQuery<Self> { unavailable() }

    @available(*, unavailable, message: "use order { $0.score.descending }, or order(\\.score)")
    public static func order(_ terms: KeyPath<SQLColumns<Self>, SQLOrdering>...) -> SQLQuery<Self> { unavailable() }
}

extension SQLQuery {
    @available(*, unavailable, message: "use order { $0.score.descending }, or order(\\.score)")
    public func order(_ terms: KeyPath<SQLColumns<Record>, SQLOrdering>...) -> SQLQuery<Record> { unavailable() }
}

extension SQLRequest {
    @available(*, unavailable, message: "the connection fetches a request: db.fetchAll(request)")
    public func fetchAll(_ db: Connection) throws -> [Element] { unavailable() }

    @available(*, unavailable, message: "the connection fetches a request: db.fetchOne(request)")
    public func fetchOne(_ db: Connection) throws -> Element? { unavailable() }

    @available(*, unavailable, message: "the connection counts the rows: db.count(request)")
    public func fetchCount(_ db: Connection) throws -> Int { unavailable() }

    @available(*, unavailable, message: "use !db.exists(request)")
    public func isEmpty(_ db: Connection) throws -> Bool { unavailable() }
}

extension SQLExpression {
    @available(*, unavailable, renamed: "descending")
    public var desc: SQLOrdering { unavailable() }

    @available(*, unavailable, renamed: "ascending")
    public var asc: SQLOrdering { unavailable() }
}

/// A comparison with its value on the left.
extension SQLExpression where Value: SQLValueConvertible {
    @available(*, unavailable, message: "write the column first, and the value after it: $0.score > 3")
    public static func == <T: SQLValueConvertible>(a: T, b: Self) -> SQLPredicate { unavailable() }

    @available(*, unavailable, message: "write the column first, and the value after it: $0.score > 3")
    public static func != <T: SQLValueConvertible>(a: T, b: Self) -> SQLPredicate { unavailable() }

    @available(*, unavailable, message: "write the column first, and the value after it: $0.score > 3")
    public static func < <T: SQLValueConvertible>(a: T, b: Self) -> SQLPredicate { unavailable() }

    @available(*, unavailable, message: "write the column first, and the value after it: $0.score > 3")
    public static func <= <T: SQLValueConvertible>(a: T, b: Self) -> SQLPredicate { unavailable() }

    @available(*, unavailable, message: "write the column first, and the value after it: $0.score > 3")
    public static func > <T: SQLValueConvertible>(a: T, b: Self) -> SQLPredicate { unavailable() }

    @available(*, unavailable, message: "write the column first, and the value after it: $0.score > 3")
    public static func >= <T: SQLValueConvertible>(a: T, b: Self) -> SQLPredicate { unavailable() }
}

extension SQLColumn.DeclaredType {
    @available(*, unavailable, renamed: "real")
    public static var double: Self { unavailable() }

    @available(*, unavailable, message: "SQLite stores a Boolean as .integer, 0 or 1")
    public static var boolean: Self { unavailable() }

    @available(*, unavailable, message: "SQLite stores no dates: .text fits the default ValueProfile, which DateStrategy changes")
    public static var date: Self { unavailable() }

    @available(*, unavailable, message: "SQLite stores no dates: .text fits the default ValueProfile, which DateStrategy changes")
    public static var datetime: Self { unavailable() }

    @available(*, unavailable, message: "use .integer, .real, or .text for a Decimal that keeps its digits")
    public static var numeric: Self { unavailable() }

    @available(*, unavailable, message: "use .text, or .blob for JSONB")
    public static var jsonText: Self { unavailable() }
}

/// The types that the signatures of this file need.
@available(*, unavailable)
public enum NamesElsewhere {
    public enum TransactionCompletion { case commit, rollback }

    public struct TableDefinition {
        public func autoIncrementedPrimaryKey(_ name: String) {}
        @discardableResult
        public func column(_ name: String, _ type: SQLColumn.DeclaredType = .any) -> SQLColumn { unavailable() }
    }
}
