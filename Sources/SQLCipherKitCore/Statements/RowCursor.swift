import CSQLCipher

/// Steps through a result one element at a time, for results that are too large to hold in memory or that you stop reading early.
/// ```swift
/// let titles = try db.cursor(String.self, "SELECT title FROM note ORDER BY title")
/// while let title = try titles.next() { print(title) }
/// ```
/// An open cursor keeps a read transaction open: read to the end, ``close()`` it or release it. If the statement writes and returns
/// rows, it is only committed when its cursor ends, and an error from committing is only thrown at the last row: fetch such rows
/// instead.
public final class RowCursor<Element> {
    private var statement: Statement?
    private let decode: (borrowing Row) throws -> Element
    /// The columns' names in the result.
    public let columnNames: [String]

    package init(_ statement: Statement, _ decode: @escaping (borrowing Row) throws -> Element) {
        self.statement = statement
        self.decode = decode
        columnNames = statement.columnNames
    }

    /// Returns the next element. At the end, closes the cursor and returns nil.
    /// - Throws: ``DatabaseError``, such as ``DatabaseError/Reason/closed`` if the connection was closed meanwhile, or any error
    ///   that the element's initialiser throws. After an error from SQLite the cursor is closed.
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

    /// Returns the remaining elements.
    public func collect() throws -> [Element] {
        var elements: [Element] = []
        while let element = try next() { elements.append(element) }
        return elements
    }

    /// Closes the cursor. Closing it again does nothing.
    public func close() { statement = nil }

    /// Whether there may be more elements.
    public var isOpen: Bool { statement?.handle != nil }
}
