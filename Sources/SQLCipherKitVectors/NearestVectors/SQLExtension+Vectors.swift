import Foundation
import SQLCipherKitCore

extension SQLExtension {
    /// Creates the SQL function `vector_distance(a, b)`, and `vector_distance(a, b, metric)` with a metric by its name: `cosine`,
    /// the default, `dot` or `l2`. A vector is a blob of four-byte numbers, the lowest byte first, or a JSON array as text; NULL
    /// gives NULL.
    /// ```swift
    /// try db.register(.vectorDistance)
    /// let far = try db.fetchOne(Double.self, "SELECT vector_distance('[1, 0]', '[1, 1]', 'l2')")
    /// ```
    /// A statement fails for vectors of different lengths, and for vectors that ``VectorIndex/set(_:)`` refuses.
    public static var vectorDistance: SQLExtension {
        SQLExtension { connection in
            for count in [2, 3] {
                try connection.register(.function("vector_distance", arguments: count, [.deterministic, .innocuous]) { arguments in
                    try distance(arguments)
                })
            }
        }
    }

    /// Creates the table-valued function `vector_nearest(table, vector, limit)`, which searches a table of vectors of the main
    /// database as ``VectorIndex/search(_:limit:)`` does. Its rows have an `id` and a `distance`, the nearest first:
    /// ```swift
    /// try db.register(.vectorNearest)
    /// let titles = try db.fetchAll(String.self, """
    ///     SELECT note.title FROM vector_nearest('note_vectors', \(question), 10) AS hit
    ///     JOIN note ON note.id = hit.id ORDER BY hit.distance
    ///     """)
    /// ```
    /// Write the vector as for ``vectorDistance``. A condition of the statement applies to the rows that the function has found: to
    /// filter before the search, use ``VectorSearch/filter``. Only SQL that the application runs can call the function; views and
    /// triggers cannot.
    public static var vectorNearest: SQLExtension { SQLExtension { connection in try NearestTable.install(connection) } }

    private static func distance(_ arguments: borrowing FunctionArguments) throws -> Double? {
        let name = try arguments.count < 3 ? "cosine" : arguments.get(2, as: String.self)
        guard let metric = VectorTable.Metric(rawValue: name), metric != .hamming else {
            throw DatabaseError.invalidArgument("vector_distance takes cosine, dot or l2")
        }
        func vector(_ place: Int) throws -> [Float]? { try VectorArgument.numbers(arguments.value(place), place) }
        guard let a = try vector(0), let b = try vector(1) else { return nil }
        guard VectorFormat.dimensionRange.contains(a.count) else {
            throw DatabaseError.invalidArgument("a vector has from 1 to 65,536 dimensions, not \(a.count)")
        }
        let format = VectorFormat(dimensions: a.count, element: .float32, metric: metric, keepsBits: false)
        try format.check(a)
        try format.check(b)
        var (product, apart) = (0.0, 0.0)
        for (x, y) in zip(a, b) {
            product += Double(x) * Double(y)
            apart += (Double(x) - Double(y)) * (Double(x) - Double(y))
        }
        return switch metric {
        case .dot: -product
        case .l2: apart.squareRoot()
        default: max(0, 1 - product / (Double(VectorFormat.norm(a)) * Double(VectorFormat.norm(b))))
        }
    }
}

/// Vectors as arguments of SQL functions.
enum VectorArgument {
    /// The numbers of an argument; nil for NULL.
    static func numbers(_ value: SQLValue, _ place: Int) throws -> [Float]? {
        switch value {
        case .null: return nil
        case .blob(let bytes):
            guard bytes.count.isMultiple(of: 4) else {
                throw DatabaseError.invalidArgument("argument \(place + 1) has \(bytes.count) bytes, not four for each number")
            }
            return bytes.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count, by: 4).map { start in
                    Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
                }
            }
        case .text(let text):
            guard let numbers = try? JSONDecoder().decode([Float].self, from: Data(text.utf8)) else {
                throw DatabaseError.invalidArgument("argument \(place + 1) is text, but not a JSON array of numbers")
            }
            return numbers
        default: throw DatabaseError.invalidArgument("argument \(place + 1) is a number, and not a vector")
        }
    }
}
