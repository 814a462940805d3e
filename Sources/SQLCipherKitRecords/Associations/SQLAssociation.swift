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
/// `Value` is what each record is fetched with: an array or an optional record.
/// What is written for both, such as a scope of your own, is an extension of ``SQLFilterable``.
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

    /// Sorts the associated records of each record. Further calls add terms, which decide when all earlier ones are equal. Without
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
    public func limit(_ count: Int, offset: Int = 0) -> Self { with(query.limit(count, offset: offset)) }
}

extension SQLRecord {
    /// The records of another table that refer to this one.
    /// ```swift
    /// static let notes = hasMany(Note.self)
    /// static let received = hasMany(Letter.self, by: \.receiver)
    /// ```
    /// - Parameters:
    ///   - type: the other records.
    ///   - referring: their property that refers to this record. Default: the property of the only foreign key.
    ///   - referenced: this record's property that they refer to. Default: the one that the foreign key names, or else the primary
    ///     key.
    public static func hasMany<Target: SQLRecord>(
        _ type: Target.Type, by referring: PartialKeyPath<Target> & Sendable = \Target.self,
        to referenced: PartialKeyPath<Self> & Sendable = \Self.self
    ) -> SQLAssociation<Self, Target, [Target]> {
        many(.direct(link(fromTarget: referring, referenced)))
    }

    /// The records that the rows of a third table link to this one, each of them once.
    /// ```swift
    /// static let tags = hasMany(Tag.self, through: NoteTag.self)
    /// static let followers = hasMany(Person.self, through: Follow.self, from: \.followed, to: \.follower)
    /// ```
    /// Without properties, each link is the only foreign key between its two tables, in either direction: a folder has many
    /// comments through its notes, to which the comments refer.
    /// - Parameters:
    ///   - type: the other records.
    ///   - link: the records of the table between the two.
    ///   - near: the link's property that refers to this record. Default: the only foreign key.
    ///   - far: the link's property that refers to the other records. Default: the only foreign key.
    public static func hasMany<Target: SQLRecord, Link: SQLRecord>(
        _ type: Target.Type, through link: Link.Type, from near: PartialKeyPath<Link> & Sendable = \Link.self,
        to far: PartialKeyPath<Link> & Sendable = \Link.self
    ) -> SQLAssociation<Self, Target, [Target]> {
        many(through(link, near, far))
    }

    /// The record of another table that refers to this one: the first one if there are several, nil if there is none. The
    /// parameters are those of ``hasMany(_:by:to:)``.
    public static func hasOne<Target: SQLRecord>(
        _ type: Target.Type, by referring: PartialKeyPath<Target> & Sendable = \Target.self,
        to referenced: PartialKeyPath<Self> & Sendable = \Self.self
    ) -> SQLAssociation<Self, Target, Target?> {
        one(.direct(link(fromTarget: referring, referenced)), limit: 1)
    }

    /// The record that rows of a third table link to this one: the first one if there are several, nil if there is none. The
    /// parameters are those of ``hasMany(_:through:from:to:)``.
    public static func hasOne<Target: SQLRecord, Link: SQLRecord>(
        _ type: Target.Type, through link: Link.Type, from near: PartialKeyPath<Link> & Sendable = \Link.self,
        to far: PartialKeyPath<Link> & Sendable = \Link.self
    ) -> SQLAssociation<Self, Target, Target?> {
        one(through(link, near, far), limit: 1)
    }

    /// The record of another table that this one refers to; nil if there is none.
    /// ```swift
    /// static let folder = belongsTo(Folder.self)
    /// static let sender = belongsTo(Person.self, by: \.sender)
    /// ```
    /// - Parameters:
    ///   - type: the other record.
    ///   - referring: this record's property that refers to it. Default: the property of the only foreign key.
    ///   - referenced: the other record's property that this one refers to. Default: the one that the foreign key names, or else
    ///     the primary key.
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
