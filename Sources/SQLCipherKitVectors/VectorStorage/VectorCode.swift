import SQLCipherKitCore

/// The bytes of vectors, to and from numbers.
extension VectorFormat {
    /// Vectors up to this length have products that a four-byte number holds.
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
    /// - Returns: the factor for the stored numbers, and the length of the stored vector.
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

    /// The vector as integers of at most `limit`, and the factor for these integers.
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
