import SQLCipherKitCore

/// A query for the records of one table; see ``SQLQueryable``.
public struct SQLQuery<Record: SQLRecord>: SQLQueryable {
    private final class Reading: Sendable {
        let selection: SQLSelection<Record>

        init(_ selection: SQLSelection<Record>) { self.selection = selection }
    }

    // Two references, which cost little to copy: a query is copied often until it runs.
    private var content: SharedClauses
    /// The selection that was set, if it reads anything but whole records.
    private var reading: Reading?

    init(_ clauses: SQLClauses) { content = SharedClauses(clauses) }

    public var selection: SQLSelection<Record> {
        get {
            if let reading { return reading.selection }
            return SQLSelection(content.clauses, reader: { _ in { row in try Record(row: row) } })
        }
        set {
            content = SharedClauses(newValue.clauses)
            reading = newValue.list == nil && newValue.fetcher == nil ? nil : Reading(newValue)
        }
    }

    public var columns: SQLColumns<Record> { content.clauses.columns(0) }

    /// The clauses, if the query reads whole records.
    var plainClauses: SQLClauses? { reading == nil ? content.clauses : nil }

    /// The rows that match a condition; see ``SQLQueryable/filter(_:)``.
    @_documentation(visibility: private)
    public func filter(_ condition: (SQLColumns<Record>) -> SQLPredicate) -> SQLQuery<Record> {
        guard var clauses = plainClauses else { return filtered(condition) }
        if let renamed = clauses.renamedForScope { clauses = renamed }
        clauses.addFilter(condition)
        return SQLQuery(clauses)
    }
}

/// Clauses that are copied by one reference.
private final class SharedClauses: Sendable {
    let clauses: SQLClauses

    init(_ clauses: SQLClauses) { self.clauses = clauses }
}

extension SQLClauses {
    /// Adds a condition on the columns of the only table.
    fileprivate mutating func addFilter<Record: SQLRecord>(_ condition: (SQLColumns<Record>) -> SQLPredicate) {
        let columns: SQLColumns<Record> = columns(0)
        let made = SQLScope.within(self) { condition(columns) }
        filter = filter.map { $0 && made } ?? made
    }
}

extension SQLRecord {
    /// All records of the table.
    public static var all: SQLQuery<Self> { SQLQuery(SQLClauses(source)) }

    /// The records that match a condition.
    public static func filter(_ condition: (SQLColumns<Self>) -> SQLPredicate) -> SQLQuery<Self> {
        var clauses = SQLClauses(source)
        clauses.addFilter(condition)
        return SQLQuery(clauses)
    }

    /// All records of the table in one database of the connection; see ``SQLQueryable/in(_:)``.
    public static func `in`(_ schema: Schema) -> SQLQuery<Self> { all.in(schema) }

    /// All records in the given order.
    public static func order(@SQLOrderingBuilder by terms: (SQLColumns<Self>) -> [SQLOrdering]) -> SQLQuery<Self> {
        all.order(by: terms)
    }

    /// An inner join: the pairs of matching rows; see ``SQLQuery/join(_:on:)``.
    public static func join<B: SQLRecord>(
        _ type: B.Type, on condition: ((SQLColumns<Self>, SQLColumns<B>) -> SQLPredicate)? = nil
    ) -> SQLJoin<Self, B> {
        all.join(type, on: condition)
    }

    /// A left join: the pairs of matching rows, and this type's rows without a match, with nil.
    public static func leftJoin<B: SQLRecord>(
        _ type: B.Type, on condition: ((SQLColumns<Self>, SQLColumns<B>) -> SQLPredicate)? = nil
    ) -> SQLJoin<Self, B?> {
        all.leftJoin(type, on: condition)
    }

    /// An inner join along an association: each record with each of its associated records.
    public static func join<B: SQLRecord, Value>(_ association: SQLAssociation<Self, B, Value>) -> SQLJoin<Self, B> {
        all.join(association)
    }

    /// A left join along an association. A record without an associated record is paired with nil.
    public static func leftJoin<B: SQLRecord, Value>(_ association: SQLAssociation<Self, B, Value>) -> SQLJoin<Self, B?> {
        all.leftJoin(association)
    }

    /// At most `count` records, after skipping `offset` of them.
    /// - Parameters:
    ///   - count: the maximum number of records, 0 or more.
    ///   - offset: the number of records to skip, 0 or more. Default: 0.
    public static func limit(_ count: Int, offset: Int = 0) -> SQLQuery<Self> { all.limit(count, offset: offset) }

    /// Values of all records instead of the records.
    public static func select<Value: SQLValueConvertible>(
        _ expression: (SQLColumns<Self>) -> SQLExpression<Value>
    ) -> SQLSelection<Value> {
        all.select(expression)
    }

    /// Values of a `Codable` type, from all records.
    @_disfavoredOverload
    public static func select<Value: Decodable & Sendable>(
        _ expression: (SQLColumns<Self>) -> SQLExpression<Value>
    ) -> SQLSelection<Value> {
        all.select(expression)
    }

    /// Several values of all records instead of the records, as a tuple.
    @_disfavoredOverload
    public static func select<each Value: SQLValueConvertible>(
        _ expressions: (SQLColumns<Self>) -> (repeat SQLExpression<each Value>)
    ) -> SQLSelection<(repeat each Value)> {
        all.select(expressions)
    }
}

/// Joins (<https://sqlite.org/lang_select.html#strange_join_names>).
///
/// Without a condition, the tables are joined by the foreign key between the new table and the tables before it. There must be
/// exactly one: none or several throw an error. The keys are taken from the tables' descriptions, or from the database for tables
/// without a description.
extension SQLQuery {
    /// An inner join: the pairs of matching rows.
    /// ```swift
    /// Author.join(Book.self)
    /// Author.join(Book.self) { author, book in author.id == book.translator }
    /// ```
    /// - Parameters:
    ///   - type: the record type of the other table.
    ///   - condition: the condition that joins two rows. Default: nil, for the foreign key between the tables.
    public func join<B: SQLRecord>(
        _ type: B.Type, on condition: ((SQLColumns<Record>, SQLColumns<B>) -> SQLPredicate)? = nil
    ) -> SQLJoin<Record, B> {
        SQLJoin(joined(type, "JOIN", condition))
    }

    /// An inner join along an association: each record with each of its associated records.
    /// ```swift
    /// let albums = Album.join(Album.belongsTo(Artist.self, by: \.artist))
    /// ```
    /// The association has no condition, order or limit of its own, and leads to the other table directly: otherwise running the
    /// query throws ``DatabaseError/Reason/misuse``.
    public func join<B: SQLRecord, Value>(_ association: SQLAssociation<Record, B, Value>) -> SQLJoin<Record, B> {
        SQLJoin(joined(association, "JOIN"))
    }

    /// A left join along an association. A record without an associated record is paired with nil.
    public func leftJoin<B: SQLRecord, Value>(_ association: SQLAssociation<Record, B, Value>) -> SQLJoin<Record, B?> {
        SQLJoin(joined(association, "LEFT JOIN"))
    }

    private func joined<B: SQLRecord, Value>(_ association: SQLAssociation<Record, B, Value>, _ keyword: String) -> SQLClauses {
        selection.clauses.joined(B.source, keyword, along: association.path, association.query.selection.clauses)
    }

    /// A left join: the pairs of matching rows, and the first table's rows without a match, with nil.
    public func leftJoin<B: SQLRecord>(
        _ type: B.Type, on condition: ((SQLColumns<Record>, SQLColumns<B>) -> SQLPredicate)? = nil
    ) -> SQLJoin<Record, B?> {
        SQLJoin(joined(type, "LEFT JOIN", condition))
    }

    /// A right join: the pairs of matching rows, and the second table's rows without a match, with nil.
    public func rightJoin<B: SQLRecord>(
        _ type: B.Type, on condition: ((SQLColumns<Record>, SQLColumns<B>) -> SQLPredicate)? = nil
    ) -> SQLJoin<Record?, B> {
        SQLJoin(joined(type, "RIGHT JOIN", condition))
    }

    /// A full join: the pairs of matching rows, and the rows of both tables without a match, with nil.
    public func fullJoin<B: SQLRecord>(
        _ type: B.Type, on condition: ((SQLColumns<Record>, SQLColumns<B>) -> SQLPredicate)? = nil
    ) -> SQLJoin<Record?, B?> {
        SQLJoin(joined(type, "FULL JOIN", condition))
    }

    /// A cross join: each row with each row of the other table.
    public func crossJoin<B: SQLRecord>(_ type: B.Type) -> SQLJoin<Record, B> {
        SQLJoin(selection.clauses.joined(B.source, "CROSS JOIN", SQLClauses.Link.none))
    }

    private func joined<B: SQLRecord>(
        _ type: B.Type, _ keyword: String, _ condition: ((SQLColumns<Record>, SQLColumns<B>) -> SQLPredicate)?
    ) -> SQLClauses {
        selection.clauses.joined(
            B.source, keyword, condition.map { condition in { clauses in condition(clauses.columns(0), clauses.columns(1)) } })
    }
}

/// Short forms that begin at the record's type, or name properties.
extension SQLQuery {
    /// Sorts the rows by properties, ascending.
    /// ```swift
    /// let notes = try db.fetchAll(Note.all.order(\.title, \.id))
    /// ```
    public func order<Value, each Other>(
        _ property: KeyPath<Record, Value> & Sendable, _ others: repeat KeyPath<Record, each Other> & Sendable
    ) -> Self {
        order { columns in
            var terms: [SQLOrdering] = [columns[dynamicMember: property].ascending]
            for property in repeat each others { terms.append(columns[dynamicMember: property].ascending) }
            return terms
        }
    }
}

/// The columns of a join's first table, for a closure that names no others.
extension SQLQueryable {
    /// The rows in which the first table's columns match a condition.
    @_disfavoredOverload
    public func filter<A, B>(_ condition: (SQLColumns<A>) -> SQLPredicate) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>) {
        filter { a, _ in condition(a) }
    }

    /// Sorts the rows by columns of the first table.
    /// ```swift
    /// Author.leftJoin(Book.self).order { $0.name }
    /// ```
    @_disfavoredOverload
    public func order<A, B>(
        @SQLOrderingBuilder by terms: (SQLColumns<A>) -> [SQLOrdering]
    ) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>) {
        order { a, _ in return terms(a) }
    }

    /// The rows in which the first table's columns match a condition.
    @_disfavoredOverload
    public func filter<A, B, C>(
        _ condition: (SQLColumns<A>) -> SQLPredicate
    ) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) {
        filter { a, _, _ in condition(a) }
    }

    /// Sorts the rows by columns of the first table.
    @_disfavoredOverload
    public func order<A, B, C>(
        @SQLOrderingBuilder by terms: (SQLColumns<A>) -> [SQLOrdering]
    ) -> Self where Columns == (SQLColumns<A>, SQLColumns<B>, SQLColumns<C>) {
        order { a, _, _ in return terms(a) }
    }
}

extension SQLRecord {
    /// All records in groups: a row for each group, to select values of.
    public static func group(@SQLOrderingBuilder by terms: (SQLColumns<Self>) -> [SQLOrdering]) -> SQLQuery<Self> {
        all.group(by: terms)
    }

    /// All records, sorted by properties, ascending.
    public static func order<Value, each Other>(
        _ property: KeyPath<Self, Value> & Sendable, _ others: repeat KeyPath<Self, each Other> & Sendable
    ) -> SQLQuery<Self> {
        all.order(property, repeat each others)
    }
}
