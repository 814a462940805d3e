import CSQLCipher

/// Steps through a result one element at a time, for results that are too large to hold, or that end early.
/// ```swift
/// let titles = try db.cursor(String.self, "SELECT title FROM note ORDER BY title")
/// while let title = try titles.next() { print(title) }
/// ```
/// An open cursor keeps a read transaction open: go to the end, ``close()`` it, or let go of it. A statement that writes and
/// returns rows is committed where its cursor ends, and only at the last row does an error of that come out: fetch such rows
/// instead.
public final class RowCursor<Element> {
    private var statement: Statement?
    private let decode: (borrowing Row) throws -> Element
    /// The columns' names in the result.
    public let columnNames: [String]

    init(_ statement: Statement, _ decode: @escaping (borrowing Row) throws -> Element) {
        self.statement = statement
        self.decode = decode
        columnNames = statement.columnNames
    }

    /// The next element, or nil at the end; the cursor is closed then.
    /// - Throws: ``DatabaseError``, ``DatabaseError/Reason/closed`` among them when the connection was closed meanwhile, and
    ///   what the element's initialiser throws. After an error of SQLite's the cursor is closed.
    public func next() throws -> Element? {
        guard let statement else { return nil }
        let handle = try statement.beginStep()
        defer { statement.endStep() }
        do {
            guard try statement.advance(handle) else {
                close()
                return nil
            }
        } catch {
            close()
            throw error
        }
        return try decode(Row(handle, statement.names(handle)))
    }

    /// The elements that are left.
    public func collect() throws -> [Element] {
        var elements: [Element] = []
        while let element = try next() { elements.append(element) }
        return elements
    }

    /// Ends the result. Closing twice does nothing.
    public func close() {
        statement = nil
    }

    /// Whether there may be more elements.
    public var isOpen: Bool { statement?.handle != nil }
}
