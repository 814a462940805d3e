import SQLCipherKit
import SQLCipherKitVectors

/// Tables of vectors, whose blobs any program may write.
extension FuzzTarget {
    private static let dimensions = 12

    /// A chunk: the kind of table, the lengths of the row ids, of the factors and of the bits, and all bytes, those of the vectors
    /// last.
    static let vectors = FuzzTarget(name: "vectors", maximumBytes: 4096) {
        let indexes = try tables.get().indexes
        return try indexes.enumerated().map { kind, index in
            let db = index.connection, hasBits = try index.element != .bits
            let found: ([UInt8], [UInt8], [UInt8])? = try db.fetchOne(
                "SELECT ids, factors, vectors FROM \(identifier: index.name + "_chunks")")
            guard let (ids, factors, vectors) = found else { throw Finding("there is no chunk") }
            let bits = hasBits ? try db.fetchOne([UInt8].self, "SELECT vectors FROM \(identifier: index.name + "_bits")") ?? [] : []
            return [UInt8(kind), UInt8(ids.count), UInt8(factors.count), UInt8(bits.count)] + ids + factors + bits + vectors
        }
    } body: { input in
        let made = try tables.get()
        var rest = input[...]
        func take(_ count: UInt8) -> [UInt8] {
            defer { rest = rest.dropFirst(Int(count)) }
            return Array(rest.prefix(Int(count)))
        }
        let head = take(4)
        guard head.count == 4 else { return }
        let index = made.indexes[Int(head[0]) % made.indexes.count], hasBits = try index.element != .bits
        let (ids, factors, bits) = (take(head[1]), take(head[2]), take(head[3])), vectors = Array(rest)
        try made.connection.transaction { db -> TransactionEnd<Void> in
            try db.execute(
                "UPDATE \(identifier: index.name + "_chunks") SET ids = \(ids), factors = \(factors), vectors = \(vectors)")
            if hasBits { try db.execute("UPDATE \(identifier: index.name + "_bits") SET vectors = \(bits)") }
            try look(at: index, hasBits: hasBits)
            return .rollback(())
        }
    }

    /// Every answer about the table is whole, or an error that says that it is damaged.
    private static func look(at index: VectorIndex, hasBits: Bool) throws {
        func answer<R>(_ body: () throws -> R) throws -> R? {
            do { return try body() } catch let error as DatabaseError {
                try require(error.code.primary == .corrupt, "the error is \(error)")
                return nil
            }
        }
        let query = (0..<dimensions).map { Float($0) - 5 }
        for (filter, coarse) in [(nil, nil), ("id < 5", nil), (nil, .bits(oversampling: 1)), ("id < 5", .bits())] as [(SQL?, VectorSearch.Coarse?)] {
            if coarse != nil, !hasBits { continue }
            var search = VectorSearch(query, limit: 4)
            (search.filter, search.coarse) = (filter, coarse)
            guard let hits = try answer({ try index.search(search) }) else { continue }
            try require(hits.count <= 4 && hits.allSatisfy { $0.distance.isFinite }, "a search gives \(hits)")
            try require(hits.map(\.distance) == hits.map(\.distance).sorted(), "hits are in no order: \(hits)")
        }
        for id in 1...7 {
            guard let vector = try answer({ try index.vector(for: Int64(id)) }) else { continue }
            try require(vector == nil || vector?.count == dimensions, "a vector is \(vector ?? [])")
        }
        _ = try index.passesIntegrityCheck()
        _ = try answer { try index.set(query, for: 2) }
        _ = try answer { try index.remove([3]) }
        _ = try answer { try index.set(query, for: 9) }
    }

    /// Sendable because targets run one after another, as `FuzzTests` sees to.
    private struct Tables: @unchecked Sendable {
        let connection: Connection
        let indexes: [VectorIndex]
    }

    private static let tables = Result<Tables, any Error> {
        let db = try Connection(.memory)
        var kinds: [(VectorTable.Element, VectorTable.Metric)] = [(.bits, .hamming)]
        for metric in [VectorTable.Metric.cosine, .dot, .l2] { kinds += [(.float32, metric), (.int8, metric)] }
        let indexes = try kinds.enumerated().map { number, kind in
            let table = VectorTable("v\(number)", dimensions: dimensions, of: kind.0, metric: kind.1, keepsBits: kind.0 != .bits)
            try db.create(table)
            let index = try db.vectors("v\(number)")
            for row in 1...6 {
                let numbers: [Int] = (0..<dimensions).map { place in (place * row * 7 + row) % 11 - 5 }
                try index.set(numbers.map { Float($0) }, for: Int64(row))
            }
            return index
        }
        return Tables(connection: db, indexes: indexes)
    }
}
