import SQLCipherKitCore

/// A search for the rows whose vectors are nearest to a given vector.
///
/// ```swift
/// var search = VectorSearch(question, limit: 20)
/// search.filter = "year > \(2010)"
/// for hit in try vectors.search(search) { print(hit.rowID, hit.distance) }
/// ```
/// A search is a value that names no table. You can store it and pass it between threads.
public struct VectorSearch: Sendable {
    /// A row that a search found.
    public struct Hit: Hashable, Sendable, Identifiable {
        /// The row id. With external content it is the content's `INTEGER PRIMARY KEY`.
        public let rowID: Int64
        /// The distance of the row's vector: see ``VectorTable/Metric``. It is computed as a four-byte number.
        public let distance: Double

        /// Creates a hit, to continue after it with ``VectorSearch/after``.
        public init(rowID: Int64, distance: Double) {
            self.rowID = rowID
            self.distance = distance
        }

        public var id: Int64 { rowID }
    }

    /// A faster search, which first compares only the bits of all vectors. It may miss some of the nearest rows.
    public struct Coarse: Hashable, Sendable {
        package var oversampling: Int

        /// Finds the rows that differ in the fewest bits, and of these the nearest by all their numbers. The table must be created
        /// with `keepsBits`.
        /// - Parameter oversampling: the number of rows that are compared exactly for each hit, from 1 to 1,000. A higher number
        ///   finds more of the nearest rows. Default: 16.
        public static func bits(oversampling: Int = 16) -> Coarse { Coarse(oversampling: oversampling) }
    }

    /// The vector to compare with: as many numbers as the table has dimensions.
    public var vector: [Float]
    /// The maximum number of hits, from 1 to 10,000. Default: 10.
    public var limit: Int
    /// An SQL condition over the columns of the content table, whose alias is `t`. Only rows that meet it are compared. If the
    /// application chooses the row ids, `id` is the only column. Default: none.
    public var filter: SQL?
    /// The last hit of the previous page. The search finds only rows after this hit, in the order of distance and then of row id.
    /// Default: none.
    public var after: Hit?
    /// A first pass that may miss some of the nearest rows. Default: nil, all vectors are compared with all their numbers.
    public var coarse: Coarse?
    /// The maximum time of the search. After it, the search throws ``SQLCipherKitCore/DatabaseError/Reason/timeout``. The time is
    /// checked between chunks of about 64 KiB, and not while the filter runs. Default: nil, no limit.
    public var timeLimit: Duration?

    /// Creates a search. Set other options on the value afterwards.
    /// - Parameters:
    ///   - vector: as many numbers as the table has dimensions.
    ///   - limit: the maximum number of hits, from 1 to 10,000. Default: 10.
    public init(_ vector: [Float], limit: Int = 10) {
        self.vector = vector
        self.limit = limit
    }
}

extension VectorSearch: _HidesValues {}
