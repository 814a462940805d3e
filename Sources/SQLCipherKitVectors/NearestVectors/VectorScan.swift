import CSQLCipherVectors
import SQLCipherKitCore

/// Compares the vectors of a table with one, a chunk at a time.
struct VectorScan {
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
    private let query: VectorQuery
    private let limit: TimeLimit?
    /// The free slots, in ascending order.
    private let free: [Int]
    private let room: Room

    /// Where C writes what it finds in a chunk.
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

    init(_ index: VectorIndex, _ format: VectorFormat, _ vector: [Float], _ limit: TimeLimit?) throws {
        self.index = index
        self.format = format
        self.limit = limit
        query = try VectorQuery(vector, format)
        free = try index.connection.fetchAll(
            Int.self, "SELECT slot FROM \(raw: index.companion(VectorNames.free)) ORDER BY slot")
        room = Room(count: format.capacity)
    }

    // MARK: Vectors

    /// Returns the nearest of all vectors.
    func all(limit: Int, after: Nearest.Entry?, without excluded: Set<Int64>) throws -> [Nearest.Entry] {
        var nearest = Nearest(limit: limit)
        try connection.forEach("SELECT \(raw: index.chunkColumns) ORDER BY chunk") { row in
            let number: Int = try row[0]
            try index.withChunk(row, format) { chunk in
                try compare(chunk.vectors, chunk.factors, chunk.count, nearest.bound) { place, distance in
                    let entry = Nearest.Entry(distance: distance, id: chunk.id(place))
                    guard nearest.wants(entry), after.map({ $0 < entry }) ?? true else { return }
                    guard !isFree(number, place), !excluded.contains(entry.id) else { return }
                    nearest.take(entry)
                }
            }
        }
        return nearest.sorted
    }

    /// Returns the nearest of the vectors in some slots, which are in ascending order.
    func some(
        _ wanted: [Wanted], limit: Int, after: Nearest.Entry?, without excluded: Set<Int64>
    ) throws -> [Nearest.Entry] {
        var nearest = Nearest(limit: limit)
        let sql = SQL(raw: "SELECT \(index.chunkColumns) WHERE chunk = ?")
        for (number, slots) in try chunks(wanted) {
            var isThere = false
            try connection.forEach(sql, [number]) { row in
                isThere = true
                try index.withChunk(row, format) { chunk in
                    for slot in slots {
                        let place = slot.slot % format.capacity
                        guard place < chunk.count, slot.id.map({ $0 == chunk.id(place) }) ?? true else {
                            throw index.damage("the slot \(slot.slot) is not that of its row")
                        }
                        let factors = chunk.factors.isEmpty ? chunk.factors : .init(rebasing: chunk.factors[(8 * place)...])
                        try compare(chunk.vector(place, format), factors, 1, nearest.bound) { _, distance in
                            let entry = Nearest.Entry(distance: distance, id: chunk.id(place))
                            guard nearest.wants(entry), after.map({ $0 < entry }) ?? true else { return }
                            if !excluded.contains(entry.id) { nearest.take(entry) }
                        }
                    }
                }
            }
            if !isThere { throw index.damage("there is no chunk \(number)") }
        }
        return nearest.sorted
    }

    // MARK: Bits

    /// Returns the slots whose bits differ least, in ascending order. The scan must be made with the format of the bits.
    /// - Parameter wanted: the slots to look at; nil for all.
    func bits(among wanted: [Wanted]?, limit: Int) throws -> [Wanted] {
        var nearest = Nearest(limit: limit)
        let table = index.companion(VectorNames.bits)
        func take(_ bytes: UnsafeRawBufferPointer, _ number: Int, _ places: [Int]?) throws {
            let count = bytes.count / format.size
            guard bytes.count == count * format.size, (1...format.capacity).contains(count) else {
                throw index.damage("a chunk of bits has \(bytes.count) bytes")
            }
            if let last = places?.last, last >= count { throw index.damage("the bits of the chunk \(number) end before a row's") }
            for (start, run) in places.map({ $0.map { ($0, 1) } }) ?? [(0, count)] {
                let some = UnsafeRawBufferPointer(rebasing: bytes[start * format.size..<(start + run) * format.size])
                try compare(some, .init(start: nil, count: 0), run, nearest.bound) { place, distance in
                    let slot = number * format.capacity + start + place
                    let entry = Nearest.Entry(distance: distance, id: Int64(slot))
                    if nearest.wants(entry), !isFree(number, start + place) { nearest.take(entry) }
                }
            }
        }
        if let wanted {
            let sql = SQL(raw: "SELECT vectors FROM \(table) WHERE chunk = ?")
            for (number, slots) in try chunks(wanted) {
                var isThere = false
                try connection.forEach(sql, [number]) { row in
                    isThere = true
                    try row.withUnsafeBytes(at: 0) { bytes in try take(bytes, number, slots.map { $0.slot % format.capacity }) }
                }
                if !isThere { throw index.damage("there are no bits of the chunk \(number)") }
            }
        } else {
            try connection.forEach("SELECT chunk, vectors FROM \(raw: table) ORDER BY chunk") { row in
                let number: Int = try row[0]
                guard VectorWriter.slots.contains(number) else { throw index.damage("the number of a chunk is \(number)") }
                try row.withUnsafeBytes(at: 1) { bytes in try take(bytes, number, nil) }
            }
        }
        return nearest.sorted.map { Wanted(slot: Int($0.id), id: nil) }.sorted { $0.slot < $1.slot }
    }

    // MARK: Both

    /// Compares vectors that follow each other, and calls `body` with those within a distance.
    private func compare(
        _ vectors: UnsafeRawBufferPointer, _ factors: UnsafeRawBufferPointer, _ count: Int, _ bound: Float,
        _ body: (_ place: Int, _ distance: Float) throws -> Void
    ) throws {
        if let limit, limit.end.hasPassed {
            throw DatabaseError(code: .interrupted, reason: .timeout, message: "the search took longer than \(limit.time)")
        }
        let found = try query.withC { query in
            sqlcipherkit_vector_compare(
                query, vectors.baseAddress, factors.baseAddress, count, bound, room.distances, room.places)
        }
        guard found >= 0 else { throw index.damage("a vector has no distance") }
        for number in 0..<found {
            let place = Int(room.places[number])
            try body(place, room.distances[place])
        }
    }

    /// Whether a place of a chunk is that of no row.
    private func isFree(_ chunk: Int, _ place: Int) -> Bool {
        guard !free.isEmpty, VectorWriter.slots.contains(chunk) else { return false }
        let slot = chunk * format.capacity + place
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
