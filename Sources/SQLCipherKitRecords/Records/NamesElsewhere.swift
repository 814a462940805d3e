import SQLCipherKitConcurrency
import SQLCipherKitCore

// What NamesElsewhere.swift of SQLCipherKitConcurrency is for queues and statements, for records, tables and migrations.

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

@available(*, unavailable, renamed: "SQLQuery")
public typealias QueryInterfaceRequest<Record: SQLRecord> = SQLQuery<Record>

@available(*, unavailable, message: "a column is a property in a closure: Player.filter { $0.score > 3 }")
public func Column<T>(_ name: String) -> SQLExpression<T> { fatalError("this is not available") }

@_disfavoredOverload
@available(*, unavailable, message: "a column is a property in a closure: Player.order { $0.score.descending }")
public func Column(_ name: String) -> SQLExpression<Int> { fatalError("this is not available") }

@available(*, unavailable, message: "a queue or pool is the context: pool.write { db in try db.insert(player) }")
public func ModelContext(_ database: SharedDatabase) -> NamesElsewhere.ModelContext { fatalError("this is not available") }

@available(*, unavailable, message: "LiveQuery(queue.observe { db in try db.fetchAll(Player.all) })")
public func Query<Record: SQLRecord>(_ type: Record.Type, in database: SharedDatabase) -> Record {
    fatalError("this is not available")
}

extension Migrator {
    @available(*, unavailable, renamed: "add(_:_:)")
    public mutating func registerMigration(_ name: String, _ body: @escaping @Sendable (Connection) throws -> Void) {}
}

extension SQLRecord {
    @available(*, unavailable, message: "use db.fetchAll(Player.all)")
    public static func fetchAll(_ db: Connection) throws -> [Self] { [] }

    @available(*, unavailable, message: "use db.fetchOne(Player.self, id: id)")
    public static func fetchOne<ID>(_ db: Connection, key: ID) throws -> Self? { nil }

    @available(*, unavailable, message: "use db.fetchOne(Player.self, id: id)")
    public static func fetchOne<ID>(_ db: Connection, id: ID) throws -> Self? { nil }

    @available(*, unavailable, message: "use db.fetchAll(Player.self, ids: ids)")
    public static func fetchAll<ID>(_ db: Connection, keys: [ID]) throws -> [Self] { [] }

    @available(*, unavailable, message: "use db.exists(Player.self, id: id)")
    public static func exists<ID>(_ db: Connection, key: ID) throws -> Bool { false }

    @available(*, unavailable, message: "use Team.including(Team.players)")
    public static func including<A>(all association: A) -> SQLQuery<Self> { fatalError("this is not available") }

    @available(*, unavailable, message: "use Player.join(Team.self), which gives tuples")
    public static func including<A>(required association: A) -> SQLQuery<Self> { fatalError("this is not available") }

    @available(*, unavailable, message: "use Player.leftJoin(Team.self), which gives tuples, or Player.including(Player.team)")
    public static func including<A>(optional association: A) -> SQLQuery<Self> { fatalError("this is not available") }

    @available(*, unavailable, message: "use db.update(player, from: before)")
    public func updateChanges(_ db: Connection, from before: Self) throws {}

    @available(*, unavailable, message: "use db.find(Player.self, id: id)")
    public static func find<ID>(_ db: Connection, id: ID) throws -> Self { fatalError("this is not available") }

    @available(*, unavailable, message: "use db.count(Player.all)")
    public static func fetchCount(_ db: Connection) throws -> Int { 0 }

    @available(*, unavailable, message: "use db.deleteAll(Player.all)")
    public static func deleteAll(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.delete(Player.self, id: id)")
    public static func deleteOne<ID>(_ db: Connection, id: ID) throws {}

    @available(*, unavailable, message: "use db.updateAll(Player.all) { $1(\\.score, to: 0) }")
    public static func updateAll<T>(_ db: Connection, _ assignments: T...) throws {}

    @available(*, unavailable, message: "db.insert(player), or db.insert(&player) to receive its id")
    public mutating func insert(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.update(player)")
    public func update(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.save(&player)")
    public mutating func save(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.upsert(player)")
    public mutating func upsert(_ db: Connection) throws {}

    @available(*, unavailable, message: "use db.delete(player)")
    public func delete(_ db: Connection) throws {}

    @available(*, unavailable, message: "use filter { $0.score > 3 }")
    public static func filter(_ condition: SQLPredicate) -> SQLQuery<Self> { all }

    @available(*, unavailable, message: "use order { $0.score.descending }, or order(\\.score)")
    public static func order(_ terms: SQLOrdering...) -> SQLQuery<Self> { all }

    @available(*, unavailable, message: "use select { $0.name }")
    public static func select<T: SQLValueConvertible>(_ column: SQLExpression<T>, as type: T.Type) -> SQLSelection<T> {
        fatalError("this is not available")
    }
}

extension SQLRequest {
    @available(*, unavailable, message: "the connection fetches a request: db.fetchAll(request)")
    public func fetchAll(_ db: Connection) throws -> [Element] { [] }

    @available(*, unavailable, message: "the connection fetches a request: db.fetchOne(request)")
    public func fetchOne(_ db: Connection) throws -> Element? { nil }

    @available(*, unavailable, message: "the connection counts: db.count(request)")
    public func fetchCount(_ db: Connection) throws -> Int { 0 }
}

extension SQLQuery {
    @available(*, unavailable, renamed: "order(_:)")
    public func sorted<Value>(by property: any KeyPath<Record, Value> & Sendable) -> SQLQuery { self }
}

extension SQLExpression {
    @available(*, unavailable, renamed: "descending")
    public var desc: SQLOrdering { descending }

    @available(*, unavailable, renamed: "ascending")
    public var asc: SQLOrdering { ascending }

    @available(*, unavailable, message: "use updateAll(Player.all) { $1(\\.score, to: 0) }")
    public func set(to value: Value) -> SQLExpression { self }

    @available(*, unavailable, message: "use like(.contains(text)), which finds ASCII letters in either case")
    public func contains(_ text: String) -> SQLPredicate where Value == String { fatalError("this is not available") }
}

extension Connection {
    @available(*, unavailable, message: "use fetchAll(Player.all)")
    public func fetchAll<Record: SQLRecord>(_ type: Record.Type) throws -> [Record] { [] }

    @available(*, unavailable, message: "use fetchAll(Player.all)")
    public func fetch<Record: SQLRecord>(_ type: Record.Type) throws -> [Record] { [] }

    @available(*, unavailable, message: "use fetchAll(Player.filter { $0.score > 3 }.order(\\.score))")
    public func fetch<Record: SQLRecord, Value>(
        _ type: Record.Type, where condition: (SQLColumns<Record>) -> SQLPredicate, sortBy property: KeyPath<Record, Value>
    ) throws -> [Record] { [] }

    @available(*, unavailable, renamed: "deleteAll(_:)")
    public func delete<Record: SQLRecord>(_ query: SQLQuery<Record>) throws {}

    @available(*, unavailable, message: "create(SQLTable(\"player\") { … }), or create(Player.table)")
    public func create(table: String, _ body: (NamesElsewhere.TableDefinition) throws -> Void) throws {}

    @available(*, unavailable, message: "use main.addColumn(_:to:)")
    public func alter(table: String, _ body: (NamesElsewhere.TableDefinition) throws -> Void) throws {}

    @available(*, unavailable, message: "use main.create(SQLIndex(\"name\", on: [\"column\"]), on: \"table\")")
    public func create(index: String, on table: String, columns: [String]) throws {}
}

@available(*, unavailable)
extension NamesElsewhere {
    public struct ModelContext {
        public func insert<Record: SQLRecord>(_ record: Record) {}
        public func save() throws {}
    }

    public struct TableDefinition {
        public func autoIncrementedPrimaryKey(_ name: String) {}
        public func primaryKey(_ name: String, _ type: SQLColumn.DeclaredType) {}
        @discardableResult
        public func column(_ name: String, _ type: SQLColumn.DeclaredType = .any) -> SQLColumn { SQLColumn(name, type) }
        public func add(column: String, _ type: SQLColumn.DeclaredType = .any) {}
    }
}
