import SQLCipherKit
import SQLCipherKitVectors
import TestSupport

/// Vectors that tests draw.
enum RandomVectors {
    static func one(_ dimensions: Int, _ random: inout SeededGenerator) -> [Float] {
        (0..<dimensions).map { _ in Float.random(in: -1...1, using: &random) }
    }

    static func some(_ count: Int, _ dimensions: Int, _ random: inout SeededGenerator) -> [[Float]] {
        (0..<count).map { _ in one(dimensions, &random) }
    }

    /// The distance of two vectors, by its definition.
    static func distance(_ a: [Float], _ b: [Float], _ metric: VectorTable.Metric) -> Double {
        let (a, b) = (a.map(Double.init), b.map(Double.init))
        let dot = zip(a, b).reduce(0) { $0 + $1.0 * $1.1 }
        func norm(_ x: [Double]) -> Double { x.reduce(0) { $0 + $1 * $1 }.squareRoot() }
        switch metric {
        case .cosine: return 1 - dot / (norm(a) * norm(b))
        case .dot: return -dot
        case .l2: return norm(zip(a, b).map { $0 - $1 })
        case .hamming: return Double(zip(a, b).count { ($0 > 0) != ($1 > 0) })
        }
    }
}
