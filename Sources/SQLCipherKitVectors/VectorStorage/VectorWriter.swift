import SQLCipherKitCore

/// Writes vectors into chunks, each chunk once for many vectors. Use it in one transaction.
struct VectorWriter {
    /// A slot outside this range is damage.
    static let slots = 0..<1 << 40
    /// The chunks that are kept before they are written.
    private static let kept = 16

    /// A chunk in memory.
    private struct Chunk {
        var ids: [UInt8] = []
        var factors: [UInt8] = []
        var vectors: [UInt8] = []
    }

    private let index: VectorIndex
    private let format: VectorFormat
    private let content: String?
    private var chunks: [Int: Chunk] = [:]
    private var bits: [Int: [UInt8]] = [:]
    /// The first slot that was never used.
    private var next: Int
    private var hasFree: Bool

    private var connection: Connection { index.connection }

    init(_ index: VectorIndex, _ format: VectorFormat) throws {
        self.index = index
        self.format = format
        content = try index.content() == nil ? nil : index.companion(VectorNames.source)
        let (rows, free) = (index.qualifiedName, index.companion(VectorNames.free))
        let last: (Int?, Int?) = try index.connection.fetchOne(
            "SELECT (SELECT max(slot) FROM \(raw: rows)), (SELECT max(slot) FROM \(raw: free))") ?? (nil, nil)
        hasFree = last.1 != nil
        let used = max(last.0 ?? -1, last.1 ?? -1)
        guard used == -1 || Self.slots.contains(used) else { throw index.damage("a slot is \(used)") }
        next = used + 1
    }

    /// Writes the vector of a row, in place of its former vector.
    mutating func put(_ vector: [Float], for id: Int64) throws {
        try format.check(vector)
        if let content, try connection.fetchOne(Int.self, "SELECT 1 FROM \(raw: content) WHERE id = \(id)") == nil {
            throw DatabaseError.invalidArgument("there is no row \(id) to give a vector to")
        }
        let slot = try slot(for: id)
        try write(vector, for: id, slot)
        if format.keepsBits { try writeBits(vector, slot) }
        if chunks.count > Self.kept { try flush() }
    }

    private mutating func slot(for id: Int64) throws -> Int {
        let (rows, free) = (index.qualifiedName, index.companion(VectorNames.free))
        if let slot = try connection.fetchOne(Int.self, "SELECT slot FROM \(raw: rows) WHERE id = \(id)") { return slot }
        var slot = next
        if hasFree, let first = try connection.fetchOne(Int.self, "SELECT slot FROM \(raw: free) ORDER BY slot LIMIT 1") {
            try connection.execute("DELETE FROM \(raw: free) WHERE slot = \(first)")
            slot = first
        } else {
            hasFree = false
            next += 1
        }
        try connection.execute("INSERT INTO \(raw: rows)(id, slot) VALUES (\(id), \(slot))")
        try connection.execute("DELETE FROM \(raw: index.companion(VectorNames.missing)) WHERE id = \(id)")
        return slot
    }

    private mutating func write(_ vector: [Float], for id: Int64, _ slot: Int) throws {
        guard Self.slots.contains(slot) else { throw index.damage("a slot is \(slot)") }
        let (number, place) = slot.quotientAndRemainder(dividingBy: format.capacity)
        var chunk = try chunks.removeValue(forKey: number) ?? read(number)
        let count = chunk.ids.count / 8
        guard place <= count else { throw index.damage("the chunk \(number) ends before the slot \(slot)") }
        if place == count {
            chunk.ids += [UInt8](repeating: 0, count: 8)
            chunk.factors += [UInt8](repeating: 0, count: format.factorSize)
            chunk.vectors += [UInt8](repeating: 0, count: format.size)
        }
        chunk.ids.withUnsafeMutableBytes { $0.storeBytes(of: id.littleEndian, toByteOffset: 8 * place, as: Int64.self) }
        let (scale, norm) = chunk.vectors.withUnsafeMutableBytes { bytes in
            format.encode(vector, to: .init(rebasing: bytes[place * format.size..<(place + 1) * format.size]))
        }
        if format.factorSize > 0 {
            chunk.factors.withUnsafeMutableBytes { bytes in
                let start = VectorFormat.factorBytes * place
                bytes.storeBytes(of: scale.bitPattern.littleEndian, toByteOffset: start, as: UInt32.self)
                bytes.storeBytes(of: norm.bitPattern.littleEndian, toByteOffset: start + 4, as: UInt32.self)
            }
        }
        chunks[number] = chunk
    }

    private mutating func writeBits(_ vector: [Float], _ slot: Int) throws {
        let format = format.bits
        let (number, place) = slot.quotientAndRemainder(dividingBy: format.capacity)
        var bytes = try bits.removeValue(forKey: number) ?? readBits(number)
        let count = bytes.count / format.size
        guard place <= count else { throw index.damage("the bits of the chunk \(number) end before the slot \(slot)") }
        if place == count { bytes += [UInt8](repeating: 0, count: format.size) }
        bytes.withUnsafeMutableBytes { bytes in
            _ = format.encode(vector, to: .init(rebasing: bytes[place * format.size..<(place + 1) * format.size]))
        }
        bits[number] = bytes
    }

    private func read(_ number: Int) throws -> Chunk {
        var chunk = Chunk()
        try connection.forEach("SELECT \(raw: index.chunkColumns) WHERE chunk = \(number)") { row in
            try index.withChunk(row, format) { stored in
                chunk = Chunk(ids: Array(stored.ids), factors: Array(stored.factors), vectors: Array(stored.vectors))
            }
        }
        return chunk
    }

    private func readBits(_ number: Int) throws -> [UInt8] {
        let table = index.companion(VectorNames.bits)
        let bytes = try connection.fetchOne([UInt8].self, "SELECT vectors FROM \(raw: table) WHERE chunk = \(number)") ?? []
        guard bytes.count.isMultiple(of: format.bitSize), bytes.count <= format.bitSize * format.bitCapacity else {
            throw index.damage("a chunk of bits has \(bytes.count) bytes")
        }
        return bytes
    }

    /// Writes the chunks that have changed. Call it last.
    mutating func flush() throws {
        let (table, coarse) = (index.companion(VectorNames.chunks), index.companion(VectorNames.bits))
        for (number, chunk) in chunks.sorted(by: { $0.key < $1.key }) {
            try connection.execute(
                """
                INSERT INTO \(raw: table)(chunk, ids, factors, vectors)
                VALUES (\(number), \(chunk.ids), \(chunk.factors), \(chunk.vectors)) ON CONFLICT(chunk)
                DO UPDATE SET ids = excluded.ids, factors = excluded.factors, vectors = excluded.vectors
                """)
        }
        for (number, bytes) in bits.sorted(by: { $0.key < $1.key }) {
            try connection.execute(
                """
                INSERT INTO \(raw: coarse)(chunk, vectors) VALUES (\(number), \(bytes))
                ON CONFLICT(chunk) DO UPDATE SET vectors = excluded.vectors
                """)
        }
        chunks.removeAll()
        bits.removeAll()
    }
}
