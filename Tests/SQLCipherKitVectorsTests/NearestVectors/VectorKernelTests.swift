import CSQLCipherVectors
import Testing
import TestSupport

/// Each processor's kernels, compared with the kernels in plain C. The vectors end where their memory ends, so that a read beyond
/// them is found where tests run under the address sanitizer, and begin at any address, as they do in a chunk.
@Suite struct VectorKernelTests {
    typealias Kernels = UnsafePointer<sqlcipherkit_vector_kernels>

    static let sets: [UInt32] = Array(sequence(first: Int32(0)) { $0 + 1 }.lazy.map { sqlcipherkit_vector_feature_set($0) }.prefix { $0 != 0 })
    static let lengths = Array(1...70) + [95, 96, 97, 127, 128, 384, 389, 1024]

    /// Some bytes at an odd address, up to the end of their memory.
    private func bytes<R>(_ count: Int, _ random: inout SeededGenerator, _ body: (UnsafeRawPointer) throws -> R) rethrows -> R {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count + 1, alignment: 1)
        defer { memory.deallocate() }
        for place in memory.indices { memory[place] = UInt8.random(in: 0...255, using: &random) }
        return try body(UnsafeRawPointer(memory.baseAddress! + 1))
    }

    @Test(arguments: sets.dropFirst()) func everyKernelGivesTheSumsOfPlainC(_ features: UInt32) throws {
        let plain = try #require(sqlcipherkit_vector_kernels_for(Self.sets[0])).pointee
        let kernel = try #require(sqlcipherkit_vector_kernels_for(features)).pointee
        var random = SeededGenerator(Int(features))
        let count = 3
        for length in Self.lengths {
            let numbers = (0..<length).map { _ in Float.random(in: -1...1, using: &random) }
            let vectors = (0..<count * length).map { _ in Float.random(in: -1...1, using: &random) }
            for (name, a, b) in [("dot", plain.dot_f32, kernel.dot_f32), ("l2", plain.l2_f32, kernel.l2_f32)] {
                var (expected, found) = ([Float](repeating: 0, count: count), [Float](repeating: 0, count: count))
                bytes(4 * count * length, &random) { start in
                    let floats = UnsafeMutableRawPointer(mutating: start)
                    floats.copyMemory(from: vectors, byteCount: 4 * count * length)
                    a?(numbers, start, count, length, &expected)
                    b?(numbers, start, count, length, &found)
                }
                for (x, y) in zip(expected, found) { #expect(abs(x - y) <= 1e-5 * Float(length), "\(name) \(length)") }
            }
            let limit = Int16(sqlcipherkit_vector_query_limit(length))
            var integers = (0..<length).map { _ in Int16.random(in: -limit...limit, using: &random) }
            // The extremes too, where sums are largest.
            if length.isMultiple(of: 2) { integers = integers.map { _ in limit } }
            bytes(count * length, &random) { start in
                let numbers = UnsafeMutableRawPointer(mutating: start)
                if length.isMultiple(of: 4) { numbers.initializeMemory(as: Int8.self, repeating: -128, count: count * length) }
                var (expected, found) = ([Int32](repeating: 0, count: count), [Int32](repeating: 0, count: count))
                plain.dot_i8(integers, start, count, length, &expected)
                kernel.dot_i8(integers, start, count, length, &found)
                #expect(expected == found, "int8 \(length)")
                let sums = (0..<count).map { vector in
                    (0..<length).reduce(0) { sum, place in
                        sum + Int(integers[place]) * Int(start.load(fromByteOffset: vector * length + place, as: Int8.self))
                    }
                }
                #expect(sums == found.map(Int.init), "int8 \(length)")
            }
            let bits = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            bytes(count * length, &random) { start in
                var (expected, found) = ([UInt32](repeating: 0, count: count), [UInt32](repeating: 0, count: count))
                plain.hamming(bits, start, count, length, &expected)
                kernel.hamming(bits, start, count, length, &found)
                #expect(expected == found, "bits \(length)")
            }
        }
    }

    @Test func largestDimensionsDoNotOverflow() {
        for dimensions in [1, 384, 513, 4_096, 65_536] {
            let limit = Int(sqlcipherkit_vector_query_limit(dimensions))
            #expect(limit >= 127 && limit * 128 * dimensions <= Int(Int32.max))
        }
    }

    /// Factors and numbers that no vector has: an answer of -1, whatever the metric.
    @Test(arguments: [sqlcipherkit_vector_cosine, sqlcipherkit_vector_dot, sqlcipherkit_vector_l2])
    func impossibleVectorsAreFound(_ metric: sqlcipherkit_vector_metric) {
        func answer(_ vector: [Float], _ scale: Float, _ norm: Float) -> Int {
            let query: [Float] = [1, 0]
            return query.withUnsafeBytes { values in
                var wanted = sqlcipherkit_vector_query(
                    element: 0, metric: Int32(metric.rawValue), dimensions: 2, values: values.baseAddress, scale: 1, norm: 1)
                var (distance, place) = (Float(0), UInt32(0))
                return sqlcipherkit_vector_compare(&wanted, vector, [scale, norm], 1, .infinity, &distance, &place)
            }
        }
        #expect(answer([1, 0], 1, 1) == 1)
        for (vector, scale, norm) in [
            ([1, 0], 0, 1), ([1, 0], -1, 1), ([1, 0], .nan, 1), ([1, 0], .infinity, 1), ([1, 0], 1, -1), ([1, 0], 1, .nan),
            ([1, 0], 1, .infinity), ([.nan, 0], 1, 1), ([.infinity, 0], 1, 1),
        ] as [([Float], Float, Float)] {
            #expect(answer(vector, scale, norm) == -1, "\(vector) \(scale) \(norm)")
        }
        // Of another length than the factors say.
        if metric == sqlcipherkit_vector_cosine { #expect(answer([0, 0], 1, 0) == -1 && answer([2, 0], 1, 1) == -1) }
    }
}
