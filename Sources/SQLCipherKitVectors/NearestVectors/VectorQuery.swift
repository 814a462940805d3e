import CSQLCipherVectors
import SQLCipherKitCore

/// A vector in the form that chunks are compared with.
struct VectorQuery {
    private enum Values {
        case floats([Float])
        case integers([Int16])
        case bits([UInt8])
    }

    private let format: VectorFormat
    private let values: Values
    private let scale: Float
    private let norm: Float

    /// - Throws: the errors of ``VectorFormat/check(_:)``.
    init(_ vector: [Float], _ format: VectorFormat) throws {
        try format.check(vector)
        self.format = format
        switch format.element {
        case .float32:
            (values, scale, norm) = (.floats(vector), 1, VectorFormat.norm(vector))
        case .int8:
            // More digits than the stored vectors have, so that nothing more is lost.
            let limit = sqlcipherkit_vector_query_limit(format.dimensions)
            let (scale, numbers) = VectorFormat.rounded(vector, to: limit)
            let zeros = [Int16](repeating: 0, count: format.size - numbers.count)
            (values, self.scale, norm) = (.integers(numbers + zeros), scale, scale * VectorFormat.norm(numbers))
        case .bits:
            var bytes = [UInt8](repeating: 0, count: format.size)
            (scale, norm) = bytes.withUnsafeMutableBytes { format.encode(vector, to: $0) }
            values = .bits(bytes)
        }
    }

    /// Calls `body` with the form of it in C.
    func withC<R>(_ body: (UnsafePointer<sqlcipherkit_vector_query>) throws -> R) throws -> R {
        func call(_ bytes: UnsafeRawBufferPointer) throws -> R {
            var query = sqlcipherkit_vector_query(
                element: format.element.code, metric: format.metric.code, dimensions: format.dimensions, values: bytes.baseAddress,
                scale: scale, norm: norm)
            return try body(&query)
        }
        return switch values {
        case .floats(let numbers): try numbers.withUnsafeBytes(call)
        case .integers(let numbers): try numbers.withUnsafeBytes(call)
        case .bits(let bytes): try bytes.withUnsafeBytes(call)
        }
    }
}
