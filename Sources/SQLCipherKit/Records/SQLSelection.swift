/// A query for values in place of records: see ``SQLQueryable``.
public struct SQLSelection<Element>: Sendable {
    /// The way to read the rows of a result, of which it gets the first.
    typealias Reader = @Sendable (borrowing Row) throws -> (borrowing Row) throws -> Element

    var clauses: SQLClauses
    /// What is read; nil for all columns of the tables.
    private let list: SQL?
    let reader: Reader

    init(_ clauses: SQLClauses, _ list: SQL? = nil, reader: @escaping Reader) {
        self.clauses = clauses
        self.list = list
        self.reader = reader
    }

    init(_ clauses: SQLClauses, _ list: SQL, read: @escaping @Sendable (borrowing Row) throws -> Element) {
        self.init(clauses, list, reader: { _ in read })
    }

    /// As part of another statement.
    var subquery: SQL { clauses.subquery(list ?? clauses.records) }

    /// Each different row once.
    public func distinct() -> Self {
        var copy = self
        copy.clauses.isDistinct = true
        return copy
    }

    func sql(_ form: SQLClauses.Form, _ db: Connection) throws(DatabaseError) -> SQL {
        try clauses.request(form, list ?? clauses.records, db)
    }
}

/// What a connection can run: a ``SQLQueryable`` or a ``SQLSelection``.
///
/// A type of your own can be one, too, and so be given to ``Connection/fetchAll(_:)`` and its like:
/// ```swift
/// struct PopularNotes: SQLRequest {
///     var stars: Int
///     var selection: SQLSelection<Note> { Note.filter { $0.stars >= stars }.selection }
/// }
/// ```
public protocol SQLRequest<Element> {
    /// What each row becomes.
    associatedtype Element

    /// What is read, and from where.
    var selection: SQLSelection<Element> { get }
}

extension SQLSelection: SQLRequest {
    public var selection: Self { self }
}
