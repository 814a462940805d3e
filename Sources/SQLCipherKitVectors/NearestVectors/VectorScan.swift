import CSQLCipherVectors
import SQLCipherKitCore

/// Compares the vectors of a table with one, a chunk at a time; or only their bits, in the table of bits.
struct VectorScan {
    /// Up to so many vectors of a chunk are read by themselves, which takes less than reading all of it.
    private static let few = 8

    /// A slot to look at; with a row id if the table of rows has been asked for it.
    struct Wanted {
        var slot: Int
        var id: Int64?
    }

    /// When a search has to end.
    struct TimeLimit {
        let time: Duration
        let end: Deadline
    }

    private let index: VectorIndex
    private let format: VectorFormat
    private let isCoarse: Bool
    private let columns: String
    private let query: VectorQuery
    private let limit: TimeLimit?
    /// The free slots, in ascending order.
    private let free: [Int]
    private let room: Room

    /// The memory for the hits that C finds in a chunk.
    private final class Room {
        let distances: UnsafeMutablePointer<Float>
        let places: UnsafeMutablePointer<UInt32>

        init(count: Int) {
            distances = .allocate(capacity: count)
            places = .allocate(capacity: count)
        }

        deinit {
            distances.deallocate()
            places.deallocate()
        }
    }

    private var connection: Connection { index.connection }

    /// - Parameter isCoarse: whether the table of bits is read.
    init(_ index: VectorIndex, _ format: VectorFormat, _ vector: [Float], isCoarse: Bool, _ limit: TimeLimit?) throws {
        self.index = index
        self.isCoarse = isCoarse
        columns = isCoarse ? index.bitColumns : index.chunkColumns
        let format = isCoarse ? format.bits : format
        self.format = format
        self.limit = limit
        query = try VectorQuery(vector, format)
        free = try index.connection.fetchAll(
            Int.self, "SELECT slot FROM \(raw: index.companion(VectorNames.free)) ORDER BY slot")
        room = Room(count: format.capacity)
    }

    /// Returns the nearest of all vectors, or of the vectors in some slots.
    /// - Parameters:
    ///   - wanted: the slots to look at, in ascending order; nil for all.
    ///   - after: an entry; only entries after it are found.
    ///   - excluded: row ids that are left out.
    /// - Returns: the nearest first; of the table of bits, with slots in place of row ids.
    func nearest(
        among wanted: [Wanted]?, limit: Int, after: Nearest.Entry? = nil, without excluded: Set<Int64> = []
    ) throws -> [Nearest.Entry] {
        var nearest = Nearest(limit: limit)
        // `start` is the slot of the first vector.
        func offer(_ vectors: VectorChunk, _ start: Int) throws {
            try compare(vectors, nearest.bound) { place, distance in
                let entry = Nearest.Entry(distance: distance, id: isCoarse ? Int64(start + place) : vectors.id(place))
                guard nearest.wants(entry), after.map({ $0 < entry }) ?? true else { return }
                if !isFree(start + place), !excluded.contains(entry.id) { nearest.take(entry) }
            }
        }
        guard let wanted else {
            try connection.forEach("SELECT \(raw: columns) ORDER BY chunk") { row in
                let number: Int = try row[0]
                guard VectorWriter.slots.contains(number) else { throw index.damage("the number of a chunk is \(number)") }
                try index.withChunk(row, format, hasRows: !isCoarse) { chunk in try offer(chunk, number * format.capacity) }
            }
            return nearest.sorted
        }
        let sql = SQL(raw: "SELECT \(columns) WHERE chunk = ?")
        var parts: VectorParts?
        for (number, slots) in try chunks(wanted) {
            func take(_ slot: Wanted, _ vector: VectorChunk) throws {
                guard isCoarse || slot.id.map({ $0 == vector.id(0) }) ?? true else {
                    throw index.damage("the slot \(slot.slot) is not that of its row")
                }
                try offer(vector, slot.slot)
            }
            if slots.count <= Self.few {
                let open = try parts ?? VectorParts(index, format, hasRows: !isCoarse, of: number)
                parts = open
                try open.move(to: number)
                for slot in slots { try open.withVector(slot.slot % format.capacity) { try take(slot, $0) } }
                continue
            }
            var isThere = false
            try connection.forEach(sql, [number]) { row in
                isThere = true
                try index.withChunk(row, format, hasRows: !isCoarse) { chunk in
                    for slot in slots {
                        guard let vector = chunk.one(slot.slot % format.capacity, format) else { throw index.noVector(slot.slot) }
                        try take(slot, vector)
                    }
                }
            }
            if !isThere { throw index.noChunk(number) }
        }
        return nearest.sorted
    }

    /// Compares vectors that follow each other, and calls `body` with the vectors within a distance.
    private func compare(
        _ vectors: VectorChunk, _ bound: Float, _ body: (_ place: Int, _ distance: Float) throws -> Void
    ) throws {
        if let limit, limit.end.hasPassed {
            throw DatabaseError(code: .interrupted, reason: .timeout, message: "the search took longer than \(limit.time)")
        }
        let found = try query.withC { query in
            sqlcipherkit_vector_compare(
                query, vectors.vectors.baseAddress, vectors.factors.baseAddress, vectors.count, bound, room.distances, room.places)
        }
        guard found >= 0 else { throw index.damage("a vector has no distance") }
        for number in 0..<found {
            let place = Int(room.places[number])
            try body(place, room.distances[place])
        }
    }

    /// Returns whether a slot belongs to no row.
    private func isFree(_ slot: Int) -> Bool {
        if free.isEmpty { return false }
        var (low, high) = (0, free.count)
        while low < high {
            let middle = (low + high) / 2
            if free[middle] < slot { low = middle + 1 } else { high = middle }
        }
        return low < free.count && free[low] == slot
    }

    /// The slots by chunk, in ascending order.
    private func chunks(_ wanted: [Wanted]) throws -> [(number: Int, slots: ArraySlice<Wanted>)] {
        var chunks: [(number: Int, slots: ArraySlice<Wanted>)] = []
        var start = 0
        while start < wanted.count {
            guard VectorWriter.slots.contains(wanted[start].slot) else { throw index.damage("a slot is \(wanted[start].slot)") }
            let number = wanted[start].slot / format.capacity
            let end = wanted[start...].firstIndex { $0.slot / format.capacity != number } ?? wanted.count
            chunks.append((number, wanted[start..<end]))
            start = end
        }
        return chunks
    }
}
