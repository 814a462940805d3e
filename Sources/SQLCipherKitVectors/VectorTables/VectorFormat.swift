import CSQLCipherVectors
import SQLCipherKitCore

/// The description that a table of vectors stores, and the sizes that follow from it.
struct VectorFormat: Equatable {
    static let dimensionRange = 1...65_536
    /// The first format. A table of another format is refused.
    static let version = 1
    /// The bytes of a chunk at most, unless a single vector has more. A scan reads a chunk at a time, and a single write rewrites
    /// one.
    private static let chunkBytes = 65_536
    /// The bytes of a vector's factors: its scale and its norm.
    static let factorBytes = 8

    let dimensions: Int
    let element: VectorTable.Element
    let metric: VectorTable.Metric
    let keepsBits: Bool

    /// The bytes of a vector: a multiple of four, because the triggers concatenate bytes, and in a database whose texts are UTF-16
    /// SQLite drops an odd one.
    var size: Int { sqlcipherkit_vector_size(element.code, dimensions) }
    /// The vectors in a full chunk.
    var capacity: Int { max(1, Self.chunkBytes / size) }
    /// The bytes of a vector's bits.
    var bitSize: Int { bits.size }
    /// The vectors in a full chunk of bits.
    var bitCapacity: Int { bits.capacity }
    /// The bytes of factors for each vector: bits have none.
    var factorSize: Int { element == .bits ? 0 : Self.factorBytes }

    /// The table of bits, as a format of its own.
    var bits: VectorFormat { VectorFormat(dimensions: dimensions, element: .bits, metric: .hamming, keepsBits: false) }
}

extension VectorFormat {
    init(_ table: VectorTable) {
        self.init(dimensions: table.dimensions, element: table.element, metric: table.metric, keepsBits: table.keepsBits)
    }

    /// Reads the settings of a table.
    /// - Throws: ``DatabaseError/Reason/engine`` with the code `corrupt` for settings that no version of this package has written.
    init(of index: VectorIndex) throws {
        let row: (Int, Int, String, String, Bool)? = try index.connection.fetchOne(
            "SELECT format, dimensions, element, metric, bits FROM \(raw: index.companion(VectorNames.settings))")
        guard let (version, dimensions, elementName, metricName, keepsBits) = row else { throw index.damage("it has no settings") }
        guard version == Self.version else { throw index.damage("its format is \(version), and this version reads 1") }
        guard Self.dimensionRange.contains(dimensions), let element = VectorTable.Element(rawValue: elementName),
            let metric = VectorTable.Metric(rawValue: metricName), (element == .bits) == (metric == .hamming),
            !keepsBits || element != .bits
        else { throw index.damage("its settings are invalid") }
        self.init(dimensions: dimensions, element: element, metric: metric, keepsBits: keepsBits)
    }
}

extension VectorTable.Element {
    var code: Int32 {
        switch self {
        case .float32: Int32(sqlcipherkit_vector_float32.rawValue)
        case .int8: Int32(sqlcipherkit_vector_int8.rawValue)
        case .bits: Int32(sqlcipherkit_vector_bits.rawValue)
        }
    }
}

extension VectorTable.Metric {
    var code: Int32 {
        switch self {
        case .cosine: Int32(sqlcipherkit_vector_cosine.rawValue)
        case .dot: Int32(sqlcipherkit_vector_dot.rawValue)
        case .l2: Int32(sqlcipherkit_vector_l2.rawValue)
        case .hamming: Int32(sqlcipherkit_vector_hamming.rawValue)
        }
    }
}
