import SQLCipherKitCore

/// The description of a table of vectors.
///
/// ```swift
/// try db.create(VectorTable("note_vectors", dimensions: 384, of: .int8,
///                           content: .external(table: "note", columns: ["title", "body"])))
/// ```
/// A description is only a value. To create the table, pass it to ``SQLCipherKitCore/Connection/create(_:ifNotExists:)``, for the
/// main database, or to ``SQLCipherKitCore/Schema/create(_:ifNotExists:)``, for any database. The vectors are in plain tables,
/// which every program with SQLite can copy, dump and read.
public struct VectorTable: Hashable, Sendable {
    /// The form in which the numbers of a vector are stored.
    public enum Element: String, Hashable, Sendable, CaseIterable {
        /// Four bytes for each number: the numbers as the application gave them.
        case float32
        /// A byte for each number, scaled by a factor for each vector: a quarter of the space of ``float32``.
        case int8
        /// A bit for each number: 1 if the number is above 0. A thirty-second of the space of ``float32``.
        case bits
    }

    /// The measure of the distance between two vectors; the nearest vectors have the smallest distance.
    public enum Metric: String, Hashable, Sendable, CaseIterable {
        /// 1 minus the cosine of the angle between the vectors, from 0 to 2.
        case cosine
        /// The negative dot product, for vectors whose length has a meaning.
        case dot
        /// The Euclidean distance (L2).
        case l2
        /// The number of bits that differ; for ``Element/bits`` only.
        case hamming
    }

    /// The rows that the vectors belong to.
    public enum Content: Hashable, Sendable {
        /// Row ids that the application chooses.
        case own
        /// The rows of an ordinary table with an `INTEGER PRIMARY KEY` in the same database. Triggers keep the vectors in step with
        /// that table, whichever program writes its rows. The vector of a deleted row is overwritten. A new row, and a row with a
        /// change in one of the columns, has no vector until the application sets one.
        /// - Parameters:
        ///   - table: the table's name.
        ///   - columns: the columns that the vector of a row is made of, 1 or more. For a model of texts, their values are joined
        ///   by line ends.
        case external(table: String, columns: [String])
    }

    /// The table's name.
    public var name: String
    package var dimensions: Int
    package var element: Element
    package var metric: Metric
    package var content: Content
    package var keepsBits: Bool

    /// Creates a description.
    /// - Parameters:
    ///   - name: the table's name. The names of its other tables begin with it.
    ///   - dimensions: the number of dimensions of each vector, from 1 to 65,536.
    ///   - element: how the numbers are stored. Default: as four-byte numbers.
    ///   - metric: how distances are measured. Default: nil, for the cosine distance or, if the elements are bits, the number of
    ///     bits that differ.
    ///   - content: which rows the vectors belong to. Default: row ids that the application chooses.
    ///   - keepsBits: whether each vector is also stored as bits, for ``VectorSearch/coarse``. Default: no.
    public init(
        _ name: String, dimensions: Int, of element: Element = .float32, metric: Metric? = nil, content: Content = .own,
        keepsBits: Bool = false
    ) {
        self.name = name
        self.dimensions = dimensions
        self.element = element
        self.metric = metric ?? (element == .bits ? .hamming : .cosine)
        self.content = content
        self.keepsBits = keepsBits
    }

    /// Rejects descriptions of tables that could not be used.
    func validate() throws {
        guard !name.isEmpty else { throw DatabaseError.invalidArgument("a table of vectors needs a name") }
        guard VectorFormat.dimensionRange.contains(dimensions) else {
            throw DatabaseError.invalidArgument("a vector has from 1 to 65,536 dimensions, not \(dimensions)")
        }
        guard (element == .bits) == (metric == .hamming) else {
            throw DatabaseError.invalidArgument("the metric hamming is for bits, and bits need it: not \(element) with \(metric)")
        }
        if keepsBits, element == .bits { throw DatabaseError.invalidArgument("the table \(name) stores bits: leave out keepsBits") }
        guard case .external(_, let columns) = content else { return }
        guard !columns.isEmpty else {
            throw DatabaseError.invalidArgument("the vectors of \(name) have no columns: name the columns that they depend on")
        }
    }
}
