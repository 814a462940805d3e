import SQLCipherKitCore

/// A relation between the records of two tables. Declare it once, then fetch associated records together or use them in queries.
/// ```swift
/// extension Folder {
///     static let notes = hasMany(Note.self)
///     static let parent = belongsTo(Folder.self)
/// }
/// extension Note {
///     static let folder = belongsTo(Folder.self)
///     static let tags = hasMany(Tag.self, through: NoteTag.self)
/// }
///
/// let query = Folder.order { $0.name }.including(Folder.notes.order { $0.date.descending }.limit(3), Folder.parent)
/// for (folder, notes, parent) in try db.fetchAll(query) { … }
///
/// let full = Folder.filter { Folder.notes.of($0).count > 10 }
/// let notes = try db.fetchAll(Folder.notes.of(folder))
/// ```
/// The columns come from the foreign key between the two tables, if there is only one, or from properties that you name. The
/// foreign key is looked up in the descriptions of the tables, or in the database for tables without a description. If there is
/// none, or several, fetching throws ``DatabaseError/Reason/misuse``.
///
/// `Value` is the type of the associated records of each record: an array or an optional record. Write code for queries and
/// associations, such as a scope of your own, as an extension of ``SQLFilterable``.
public struct SQLAssociation<Base: SQLRecord, Target: SQLRecord, Value>: SQLFilterable, Sendable {
    let path: AssociationPath
    var query: SQLQuery<Target>
    /// Reads the value for each of the keys.
    let load: @Sendable (AssociatedRows<Target>, NearKeys, Connection) throws -> [Value]

    init(
        _ path: AssociationPath, _ query: SQLQuery<Target>,
        load: @escaping @Sendable (AssociatedRows<Target>, NearKeys, Connection) throws -> [Value]
    ) {
        self.path = path
        self.query = query
        self.load = load
    }

    /// Keeps only the associated records that match a condition. After several calls, they must match all conditions.
    public func filter(_ condition: (SQLColumns<Target>) -> SQLPredicate) -> Self { with(query.filter(condition)) }

    /// Sorts the associated records of each record. Further calls add terms, which decide when all earlier terms are equal. Without
    /// an order, the associated records come in any order, and `hasOne` takes any of them.
    public func order(@SQLOrderingBuilder by terms: (SQLColumns<Target>) -> [SQLOrdering]) -> Self { with(query.order(by: terms)) }

    private func with(_ query: SQLQuery<Target>) -> Self {
        var copy = self
        copy.query = query
        return copy
    }
}

extension SQLAssociation where Value: RangeReplaceableCollection {
    /// Keeps at most `count` associated records for each record, after skipping `offset` of them. If one of the numbers is
    /// negative, fetching throws ``DatabaseError/Reason/invalidArgument``.
    /// - Parameters:
    ///   - count: the maximum number of records.
    ///   - offset: the number of records to skip. Default: 0.
    public func limit(_ count: Int, offset: Int = 0) -> Self { with(query.limit(count, offset: offset)) }
}

extension SQLRecord {
    /// The records of another table that refer to this record.
    /// ```swift
    /// static let notes = hasMany(Note.self)
    /// static let received = hasMany(Letter.self, by: \.receiver)
    /// ```
    /// - Parameters:
    ///   - type: the other records.
    ///   - referring: the other records' property that refers to this record. Default: the property of the only foreign key.
    ///   - referenced: this record's property that the other records refer to. Default: the property that the foreign key names, or
    ///     else the primary key.
    public static func hasMany<Target: SQLRecord>(
        _ type: Target.Type, by referring: PartialKeyPath<Target> & Sendable = \Target.self,
        to referenced: PartialKeyPath<Self> & Sendable = \Self.self
    ) -> SQLAssociation<Self, Target, [Target]> {
        many(.direct(link(fromTarget: referring, referenced)))
    }

    /// The records that the rows of a third table link to this record, each record once.
    /// ```swift
    /// static let tags = hasMany(Tag.self, through: NoteTag.self)
    /// static let followers = hasMany(Person.self, through: Follow.self, from: \.followed, to: \.follower)
    /// ```
    /// If you name no properties, each step uses the only foreign key between its two tables, in either direction. For example, a
    /// folder has many comments through its notes: notes refer to folders, and comments to notes.
    /// - Parameters:
    ///   - type: the other records.
    ///   - link: the records of the third table.
    ///   - near: the link's property that refers to this record. Default: the only foreign key.
    ///   - far: the link's property that refers to the other records. Default: the only foreign key.
    public static func hasMany<Target: SQLRecord, Link: SQLRecord>(
        _ type: Target.Type, through link: Link.Type, from near: PartialKeyPath<Link> & Sendable = \Link.self,
        to far: PartialKeyPath<Link> & Sendable = \Link.self
    ) -> SQLAssociation<Self, Target, [Target]> {
        many(through(link, near, far))
    }

    /// The record of another table that refers to this record: the first if there are several, nil if there is none. The
    /// parameters are the same as for ``hasMany(_:by:to:)``.
    public static func hasOne<Target: SQLRecord>(
        _ type: Target.Type, by referring: PartialKeyPath<Target> & Sendable = \Target.self,
        to referenced: PartialKeyPath<Self> & Sendable = \Self.self
    ) -> SQLAssociation<Self, Target, Target?> {
        one(.direct(link(fromTarget: referring, referenced)), limit: 1)
    }

    /// The record that rows of a third table link to this record: the first if there are several, nil if there is none. The
    /// parameters are the same as for ``hasMany(_:through:from:to:)``.
    public static func hasOne<Target: SQLRecord, Link: SQLRecord>(
        _ type: Target.Type, through link: Link.Type, from near: PartialKeyPath<Link> & Sendable = \Link.self,
        to far: PartialKeyPath<Link> & Sendable = \Link.self
    ) -> SQLAssociation<Self, Target, Target?> {
        one(through(link, near, far), limit: 1)
    }

    /// The record of another table that this record refers to; nil if there is none.
    /// ```swift
    /// static let folder = belongsTo(Folder.self)
    /// static let sender = belongsTo(Person.self, by: \.sender)
    /// ```
    /// - Parameters:
    ///   - type: the other record.
    ///   - referring: this record's property that refers to the other record. Default: the property of the only foreign key.
    ///   - referenced: the other record's property that this record refers to. Default: the property that the foreign key names, or
    ///     else the primary key.
    public static func belongsTo<Target: SQLRecord>(
        _ type: Target.Type, by referring: PartialKeyPath<Self> & Sendable = \Self.self,
        to referenced: PartialKeyPath<Target> & Sendable = \Target.self
    ) -> SQLAssociation<Self, Target, Target?> {
        one(
            .direct(
                AssociationLink(
                    direction: .nearRefersToFar, referring: source.linkName(referring),
                    referenced: Target.source.linkName(referenced))),
            limit: nil)
    }

    private static func link<Target: SQLRecord>(
        fromTarget referring: PartialKeyPath<Target> & Sendable, _ referenced: PartialKeyPath<Self> & Sendable
    ) -> AssociationLink {
        AssociationLink(
            direction: .farRefersToNear, referring: Target.source.linkName(referring), referenced: source.linkName(referenced))
    }

    private static func through<Link: SQLRecord>(
        _ link: Link.Type, _ near: PartialKeyPath<Link> & Sendable, _ far: PartialKeyPath<Link> & Sendable
    ) -> AssociationPath {
        let table = Link.source
        let (near, far) = (table.linkName(near), table.linkName(far))
        return .through(
            table, AssociationLink(direction: near == nil ? .either : .farRefersToNear, referring: near),
            AssociationLink(direction: far == nil ? .either : .nearRefersToFar, referring: far))
    }

    private static func many<Target: SQLRecord>(_ path: AssociationPath) -> SQLAssociation<Self, Target, [Target]> {
        SQLAssociation(path, .unscoped) { rows, keys, db in try rows.fetch(.plain, keys, db) }
    }

    private static func one<Target: SQLRecord>(_ path: AssociationPath, limit: Int?) -> SQLAssociation<Self, Target, Target?> {
        var query = SQLQuery<Target>.unscoped
        query.selection.clauses.limit = limit
        return SQLAssociation(path, query) { rows, keys, db in try rows.fetch(.plain, keys, db).map(\.first) }
    }
}

extension SQLQuery {
    /// All records under the table's own name, so that no surrounding query influences the declaration.
    fileprivate static var unscoped: Self {
        var query = Record.all
        query.selection.clauses.sides[0].alias = Record.source.name
        return query
    }
}

/// Associations of the associated records, one level further.
/// ```swift
/// let query = Folder.including(Folder.notes.order { $0.date }.including(Note.tags))
/// for (folder, notes) in try db.fetchAll(query) {
///     for (note, tags) in notes { … }
/// }
/// ```
/// Filters, orders and limits can be added before and after `including`. Each association is one more statement.
extension SQLAssociation where Value == [Target] {
    /// Fetches each associated record with an association of its own.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Target, A, X>) -> SQLAssociation<Base, Target, [(Target, X)]> {
        each(.one(a))
    }

    /// Fetches each associated record with two associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>
    ) -> SQLAssociation<Base, Target, [(Target, X, Y)]> {
        each(.two(a, b))
    }

    /// Fetches each associated record with three associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y, C: SQLRecord, Z>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>, _ c: SQLAssociation<Target, C, Z>
    ) -> SQLAssociation<Base, Target, [(Target, X, Y, Z)]> {
        each(.three(a, b, c))
    }

    private func each<Row>(_ reading: AssociationReading<Target, Row>) -> SQLAssociation<Base, Target, [Row]> {
        SQLAssociation<Base, Target, [Row]>(path, query) { rows, keys, db in try rows.fetch(reading, keys, db) }
    }
}

/// Associations of the one associated record.
extension SQLAssociation where Value == Target? {
    /// Fetches the associated record with an association of its own.
    public func including<A: SQLRecord, X>(_ a: SQLAssociation<Target, A, X>) -> SQLAssociation<Base, Target, (Target, X)?> {
        first(.one(a))
    }

    /// Fetches the associated record with two associations.
    public func including<A: SQLRecord, X, B: SQLRecord, Y>(
        _ a: SQLAssociation<Target, A, X>, _ b: SQLAssociation<Target, B, Y>
    ) -> SQLAssociation<Base, Target, (Target, X, Y)?> {
        first(.two(a, b))
    }

    private func first<Row>(_ reading: AssociationReading<Target, Row>) -> SQLAssociation<Base, Target, Row?> {
        SQLAssociation<Base, Target, Row?>(path, query) { rows, keys, db in try rows.fetch(reading, keys, db).map(\.first) }
    }
}

/// The associated records of one record, as a query of their own.
extension SQLAssociation {
    /// The records associated with a record in the closure of a query: for a condition, an order or a value.
    /// ```swift
    /// Folder.filter { Folder.notes.of($0).filter { $0.stars > 3 }.exists }
    ///     .order { Folder.notes.of($0).count.descending }
    /// ```
    /// The foreign keys come from the tables' descriptions. For tables without a description, the association must name both
    /// properties, or running the query throws ``DatabaseError/Reason/misuse``.
    public func of(_ base: SQLColumns<Base>) -> SQLQuery<Target> {
        matching(base.table) { columns in columns.map { "\(identifier: base.alias).\(identifier: $0)" } }
    }

    /// The records associated with a record.
    /// ```swift
    /// let notes = try db.fetchAll(Folder.notes.of(folder).filter { $0.stars > 3 })
    /// ```
    /// For tables without a description, the association must name both properties, or running the query throws
    /// ``DatabaseError/Reason/misuse``.
    public func of(_ record: Base) -> SQLQuery<Target> {
        matching(Base.source) { columns in
            let values = try record.values(of: columns)
            return values.map { value in value.map { "\($0)" } ?? "NULL" }
        }
    }

    private func matching(
        _ base: SQLTable, _ values: ([String]) throws -> [SQL]
    ) -> SQLQuery<Target> {
        var clauses = query.selection.clauses
        clauses.sides[0].table.schema = clauses.sides[0].table.schema ?? base.schema
        do {
            clauses = try clauses.free()
            let side = clauses.sides[0]
            let condition = try condition(side, base, values)
            clauses.filter = clauses.filter.map { condition && $0 } ?? condition
        } catch {
            clauses.failure = clauses.failure ?? error
        }
        return SQLQuery(clauses)
    }

    private func condition(
        _ side: SQLClauses.Side, _ base: SQLTable, _ values: ([String]) throws -> [SQL]
    ) throws -> SQLPredicate {
        switch path.in(base.schema) {
        case .direct(let link):
            let pairs = try link.columns(near: base, far: side.table, nil)
            let values = AssociationLink.values(pairs, near: base, far: side.table, try values(pairs.map(\.near)))
            return SQLPredicate(SQLClauses.equal(side.alias, pairs.map(\.far), values), .and)
        case .through(let table, let first, let second):
            let near = try first.columns(near: base, far: table, nil)
            let far = try second.columns(near: table, far: side.table, nil)
            let alias = "sqlcipherkit_link"
            let values = AssociationLink.values(near, near: base, far: table, try values(near.map(\.near)))
            return AssociationLink.linked(
                far, side.alias, side.table, through: table, as: alias, where: SQLClauses.equal(alias, near.map(\.far), values))
        }
    }
}

extension SQLClauses {
    /// The query of an association under a name that no query around it has.
    fileprivate func free() throws -> SQLClauses {
        guard let renamed = renamedForScope else { return self }
        if renamed.failure == nil { return renamed }
        // Its conditions contain its name: they stay in a query of their own.
        if isPlain, orderings.isEmpty {
            return SQLClauses(sides[0].table, query: try select("\(identifier: sides[0].alias).*", nil))
        }
        throw DatabaseError.misuse(
            "an association of \(sides[0].table.name) with an order or a limit is used in a query of the same table: "
                + "write the order and the limit after of(_:)")
    }
}

extension SQLRecord {
    /// The record's values for some columns, in the form in which they are bound.
    fileprivate func values(of columns: [String]) throws -> [(any SQLValueConvertible)?] {
        let profiles = Self.columnProfiles
        var stored: [(name: String, value: (any SQLValueConvertible)?)] = []
        if let positions = Self._recordColumns?.positions {
            stored = positions.columns.map { ($0.name, $0.value(of: self)) }
        } else {
            do { stored = try RowEncodingState.collect(self, nil) } catch {
                throw error as? DatabaseError ?? .invalidArgument("a \(Self.self) cannot be encoded: \(error.jsonDescription)")
            }
        }
        return try columns.map { column in
            guard let found = stored.first(where: { SQLName($0.name) == SQLName(column) }) else {
                throw DatabaseError.misuse("the record has no property for \(column), which its association needs")
            }
            guard let value = found.value, let profile = profiles[found.name] else { return found.value }
            return ProfiledValue(value, profile)
        }
    }
}

extension SQLQueryable {
    /// The number of rows, as a value in another query. To fetch the number itself, use ``Connection/count(_:)``.
    /// ```swift
    /// Folder.filter { Folder.notes.of($0).count > 10 }
    /// ```
    public var count: SQLExpression<Int> {
        let clauses = selection.clauses
        if clauses.isPlain {
            var unordered = clauses
            unordered.orderings = []
            return SQLExpression("(\(unordered.subquery("count(*)")))", .atom)
        }
        return SQLExpression("(SELECT count(*) FROM (\(selection.subquery)))", .atom)
    }
}
