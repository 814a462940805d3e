import SQLCipherKitCore

/// The bytes of vectors, to and from numbers.
extension VectorFormat {
    /// Lengths up to this one have products that a four-byte number holds.
    private static let longest = 1e18
    /// Below this length, the squares of four-byte numbers vanish, and with them the angle.
    private static let shortest = 1e-18

    /// Checks a vector of the application's, before anything is written or compared.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for another number of dimensions, NaN and infinite numbers, a length over
    ///   1e18, and, where angles are compared, one below 1e-18.
    func check(_ vector: [Float]) throws {
        guard vector.count == dimensions else {
            throw DatabaseError.invalidArgument("the vector has \(vector.count) dimensions, and the table \(dimensions)")
        }
        var squares = 0.0
        for number in vector { squares += Double(number) * Double(number) }
        guard squares.isFinite else { throw DatabaseError.invalidArgument("a number of the vector is NaN or infinite") }
        if element == .bits { return }
        guard squares.squareRoot() <= Self.longest else { throw DatabaseError.invalidArgument("the vector is longer than 1e18") }
        if metric == .cosine, squares.squareRoot() < Self.shortest {
            throw DatabaseError.invalidArgument("the vector is zero, which has no angle")
        }
    }

    /// Writes a vector that ``check(_:)`` accepts to `bytes`, which has room for it.
    /// - Returns: what the stored numbers are to be multiplied by, and the length of the stored vector.
    func encode(_ vector: [Float], to bytes: UnsafeMutableRawBufferPointer) -> (scale: Float, norm: Float) {
        switch element {
        case .float32:
            for (place, number) in vector.enumerated() {
                bytes.storeBytes(of: number.bitPattern.littleEndian, toByteOffset: 4 * place, as: UInt32.self)
            }
            return (1, Self.norm(vector))
        case .int8:
            let (scale, numbers) = Self.rounded(vector, to: 127)
            for place in numbers.count..<bytes.count { bytes[place] = 0 }
            for (place, number) in numbers.enumerated() { bytes[place] = UInt8(bitPattern: Int8(truncatingIfNeeded: number)) }
            return (scale, scale * Self.norm(numbers))
        case .bits:
            for place in bytes.indices { bytes[place] = 0 }
            for (place, number) in vector.enumerated() where number > 0 { bytes[place / 8] |= 1 << (place % 8) }
            return (1, 1)
        }
    }

    /// The numbers of a stored vector: for bits, 1 and -1.
    func decode(_ bytes: UnsafeRawBufferPointer, scale: Float) -> [Float] {
        (0..<dimensions).map { place in
            switch element {
            case .float32:
                let pattern = bytes.loadUnaligned(fromByteOffset: 4 * place, as: UInt32.self)
                return Float(bitPattern: UInt32(littleEndian: pattern))
            case .int8: return scale * Float(Int8(bitPattern: bytes[place]))
            case .bits: return bytes[place / 8] & 1 << (place % 8) == 0 ? -1 : 1
            }
        }
    }

    /// The vector as integers of at most `limit`, and what these are to be multiplied by.
    static func rounded(_ vector: [Float], to limit: Int32) -> (scale: Float, numbers: [Int16]) {
        let largest = vector.reduce(0) { max($0, abs($1)) }
        guard largest > 0 else { return (1, vector.map { _ in 0 }) }
        let scale = max(largest / Float(limit), .leastNormalMagnitude)
        let bounds = -Float(limit)...Float(limit)
        return (scale, vector.map { Int16(min(max(($0 / scale).rounded(), bounds.lowerBound), bounds.upperBound)) })
    }

    static func norm(_ vector: [Float]) -> Float {
        var squares = 0.0
        for number in vector { squares += Double(number) * Double(number) }
        return Float(squares.squareRoot())
    }

    static func norm(_ numbers: [Int16]) -> Float {
        var squares = 0.0
        for number in numbers { squares += Double(number) * Double(number) }
        return Float(squares.squareRoot())
    }
}

/// The bytes of a chunk as the file has them, after their lengths have been checked. Lent for the time of a closure.
struct VectorChunk {
    let count: Int
    let ids: UnsafeRawBufferPointer
    let factors: UnsafeRawBufferPointer
    let vectors: UnsafeRawBufferPointer

    /// - Throws: the error of damage, if the lengths do not fit each other and the format.
    init(
        _ index: VectorIndex, _ format: VectorFormat, ids: UnsafeRawBufferPointer, factors: UnsafeRawBufferPointer,
        vectors: UnsafeRawBufferPointer
    ) throws {
        count = ids.count / 8
        guard ids.count == 8 * count, (1...format.capacity).contains(count), factors.count == count * format.factorSize,
            vectors.count == count * format.size
        else { throw index.damage("a chunk has \(ids.count), \(factors.count) and \(vectors.count) bytes") }
        (self.ids, self.factors, self.vectors) = (ids, factors, vectors)
    }

    func id(_ place: Int) -> Int64 { Int64(littleEndian: ids.loadUnaligned(fromByteOffset: 8 * place, as: Int64.self)) }

    func scale(_ place: Int) -> Float {
        guard !factors.isEmpty else { return 1 }
        let pattern = factors.loadUnaligned(fromByteOffset: VectorFormat.factorBytes * place, as: UInt32.self)
        return Float(bitPattern: UInt32(littleEndian: pattern))
    }

    func vector(_ place: Int, _ format: VectorFormat) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: vectors[place * format.size..<(place + 1) * format.size])
    }
}

extension VectorIndex {
    /// The columns of a chunk, which ``withChunk(_:_:from:_:)`` reads, and the table.
    var chunkColumns: String { "chunk, ids, factors, vectors FROM \(companion(VectorNames.chunks))" }

    /// Calls `body` with the chunk of a row that has the columns ``chunkColumns``.
    func withChunk<R>(_ row: borrowing Row, _ format: VectorFormat, _ body: (VectorChunk) throws -> R) throws -> R {
        try row.withUnsafeBytes(at: 1) { ids in
            try row.withUnsafeBytes(at: 2) { factors in
                try row.withUnsafeBytes(at: 3) { vectors in
                    try body(VectorChunk(self, format, ids: ids, factors: factors, vectors: vectors))
                }
            }
        }
    }
}
