/// A query for values in place of records: see ``SQLQueryable``.
public struct SQLSelection<Element>: Sendable {
    let clauses: SQLClauses
    private let list: SQL
    private let read: @Sendable (borrowing Row) throws -> Element

    init(_ clauses: SQLClauses, _ list: SQL, _ read: @escaping @Sendable (borrowing Row) throws -> Element) {
        self.clauses = clauses
        self.list = list
        self.read = read
    }

    /// As part of another statement.
    var subquery: SQL { clauses.subquery(list) }

    /// Each different row once.
    public func distinct() -> Self {
        var clauses = clauses
        clauses.isDistinct = true
        return SQLSelection(clauses, list, read)
    }
}

/// What a connection can run: a ``SQLQueryable`` or a ``SQLSelection``.
public protocol SQLRequest<Element> {
    /// What each row becomes.
    associatedtype Element

    func _sql(_ form: SQLRequestForm, _ db: Connection) throws(DatabaseError) -> SQL
    /// The way to read the rows of a result, of which this is the first.
    func _reader(_ row: borrowing Row) throws -> (borrowing Row) throws -> Element
}

/// What is wanted of a request.
public enum SQLRequestForm: Sendable {
    /// Its rows.
    case rows
    /// Their number.
    case count
    /// Whether there is one.
    case existence
}

extension SQLSelection: SQLRequest {
    public func _sql(_ form: SQLRequestForm, _ db: Connection) throws(DatabaseError) -> SQL { try clauses.request(form, list, db) }
    public func _reader(_ row: borrowing Row) throws -> (borrowing Row) throws -> Element { read }
}
