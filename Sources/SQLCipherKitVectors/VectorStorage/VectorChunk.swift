import SQLCipherKitCore

/// The bytes of a chunk as the file has them, after their lengths have been checked. Lent for the time of a closure.
struct VectorChunk {
    let count: Int
    /// Empty in the table of bits, as are the factors.
    let ids: UnsafeRawBufferPointer
    let factors: UnsafeRawBufferPointer
    let vectors: UnsafeRawBufferPointer

    func id(_ place: Int) -> Int64 { Int64(littleEndian: ids.loadUnaligned(fromByteOffset: 8 * place, as: Int64.self)) }

    func scale(_ place: Int) -> Float {
        guard !factors.isEmpty else { return 1 }
        let pattern = factors.loadUnaligned(fromByteOffset: VectorFormat.factorBytes * place, as: UInt32.self)
        return Float(bitPattern: UInt32(littleEndian: pattern))
    }

    /// A single vector; nil if the chunk has fewer.
    func one(_ place: Int, _ format: VectorFormat) -> VectorChunk? {
        guard place < count else { return nil }
        func part(_ bytes: UnsafeRawBufferPointer, _ size: Int) -> UnsafeRawBufferPointer {
            bytes.isEmpty ? bytes : UnsafeRawBufferPointer(rebasing: bytes[place * size..<(place + 1) * size])
        }
        return VectorChunk(
            count: 1, ids: part(ids, 8), factors: part(factors, format.factorSize), vectors: part(vectors, format.size))
    }
}

extension VectorIndex {
    /// The columns of a chunk, which ``withChunk(_:_:hasRows:_:)`` reads, and the table.
    var chunkColumns: String { "chunk, ids, factors, vectors FROM \(companion(VectorNames.chunks))" }

    /// The same of the table of bits, whose chunks have no rows.
    var bitColumns: String { "chunk, x'', x'', vectors FROM \(companion(VectorNames.bits))" }

    /// Calls `body` with the chunk of a row that has the columns ``chunkColumns`` or, without rows, ``bitColumns``.
    func withChunk<R>(
        _ row: borrowing Row, _ format: VectorFormat, hasRows: Bool = true, _ body: (VectorChunk) throws -> R
    ) throws -> R {
        try row.withUnsafeBytes(at: 1) { ids in
            try row.withUnsafeBytes(at: 2) { factors in
                try row.withUnsafeBytes(at: 3) { vectors in
                    let count = try chunkCount(format, hasRows: hasRows, ids.count, factors.count, vectors.count)
                    return try body(VectorChunk(count: count, ids: ids, factors: factors, vectors: vectors))
                }
            }
        }
    }

    /// The number of vectors in a chunk, by the bytes of its columns.
    /// - Throws: the error of damage, if they do not fit each other and the format.
    fileprivate func chunkCount(_ format: VectorFormat, hasRows: Bool, _ ids: Int, _ factors: Int, _ vectors: Int) throws -> Int {
        let count = vectors / format.size
        guard vectors == count * format.size, (1...format.capacity).contains(count), ids == (hasRows ? 8 * count : 0),
            factors == (hasRows ? count * format.factorSize : 0)
        else { throw damage("a chunk has \(ids), \(factors) and \(vectors) bytes") }
        return count
    }

    func noChunk(_ number: Int) -> DatabaseError { damage("there is no chunk \(number)") }
    func noVector(_ slot: Int) -> DatabaseError { damage("its chunk ends before the slot \(slot)") }
}

/// Single vectors out of chunks, without the rest of each chunk.
final class VectorParts {
    private let index: VectorIndex
    private let format: VectorFormat
    private let hasRows: Bool
    private let vectors: Blob
    private let ids: Blob?
    private let factors: Blob?
    private var number: Int
    private var count = 0
    /// The id, the factors and the vector that were read last.
    private let room: UnsafeMutableRawBufferPointer

    /// - Parameters:
    ///   - hasRows: whether the chunks have row ids and factors; chunks of the table of bits do not.
    ///   - number: a chunk.
    init(_ index: VectorIndex, _ format: VectorFormat, hasRows: Bool, of number: Int) throws {
        func open(_ column: String) throws -> Blob {
            try index.orNoChunk(number) {
                let table = index.name + (hasRows ? VectorNames.chunks : VectorNames.bits)
                return try index.schema.openBlob(table: table, column: column, rowID: Int64(number))
            }
        }
        (self.index, self.format, self.hasRows, self.number) = (index, format, hasRows, number)
        vectors = try open("vectors")
        ids = hasRows ? try open("ids") : nil
        factors = hasRows && format.factorSize > 0 ? try open("factors") : nil
        count = try index.chunkCount(format, hasRows: hasRows, ids?.count ?? 0, factors?.count ?? 0, vectors.count)
        room = .allocate(byteCount: 16 + format.size, alignment: 16)
    }

    deinit {
        for blob in [vectors, ids, factors] { blob?.close() }
        room.deallocate()
    }

    /// Goes to another chunk.
    func move(to number: Int) throws {
        if number == self.number { return }
        self.number = number
        try index.orNoChunk(number) {
            for blob in [vectors, ids, factors] { try blob?.reopen(rowID: Int64(number)) }
        }
        count = try index.chunkCount(format, hasRows: hasRows, ids?.count ?? 0, factors?.count ?? 0, vectors.count)
    }

    /// Calls `body` with a vector.
    func withVector<R>(_ place: Int, _ body: (VectorChunk) throws -> R) throws -> R {
        guard place < count else { throw index.noVector(number * format.capacity + place) }
        func read(_ blob: Blob?, _ size: Int, _ start: Int) throws -> UnsafeRawBufferPointer {
            guard let blob else { return UnsafeRawBufferPointer(start: nil, count: 0) }
            let bytes = UnsafeMutableRawBufferPointer(rebasing: room[start..<start + size])
            try blob.read(into: bytes, at: place * size)
            return UnsafeRawBufferPointer(bytes)
        }
        return try withExtendedLifetime(self) {
            try body(
                VectorChunk(
                    count: 1, ids: try read(ids, 8, 0), factors: try read(factors, format.factorSize, 8),
                    vectors: try read(vectors, format.size, 16)))
        }
    }
}

extension VectorIndex {
    /// Runs `body`, which opens a value of a chunk. SQLite has the same code for a missing row and for a value that is no blob.
    fileprivate func orNoChunk<R>(_ number: Int, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as DatabaseError where error.code == .error { throw noChunk(number) }
    }
}
