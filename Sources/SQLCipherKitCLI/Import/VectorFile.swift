import Foundation
import SQLCipherKit

/// Vectors in a file: of NumPy (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>), or with one on each
/// line.
enum VectorFile {
    typealias Row = (id: Int64, vector: [Float])

    /// - Parameter ids: the file with the row ids, for a file of NumPy.
    static func read(_ path: String, ids: String?) throws -> [Row] {
        guard let ids else { return try lines(path) }
        let vectors = try NumPyArray(path), rows = try NumPyArray(ids)
        guard vectors.shape.count == 2, rows.shape.count == 1, vectors.shape[0] == rows.shape[0], vectors.shape[1] > 0 else {
            throw Failure("\(path) has the shape \(vectors.shape), and \(ids) \(rows.shape): a vector for each id is expected")
        }
        let numbers = try vectors.floats()
        return zip(try rows.integers(), stride(from: 0, to: numbers.count, by: vectors.shape[1])).map { id, start in
            (id, Array(numbers[start..<start + vectors.shape[1]]))
        }
    }

    private static func lines(_ path: String) throws -> [Row] {
        let text = String(decoding: try bytes(path), as: UTF8.self)
        var rows: [Row] = []
        // CR and LF together are one character, and one end of a line.
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            var list = line.trimmingCharacters(in: .whitespaces)
            if list.isEmpty { continue }
            if list.hasPrefix("["), list.hasSuffix("]") { list = String(list.dropFirst().dropLast()) }
            let fields = list.components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            let vector = fields.dropFirst().compactMap { Float($0) }
            guard let id = Int64(fields[0]), !vector.isEmpty, vector.count == fields.count - 1 else {
                throw Failure("\(path), line \(number + 1): a row id and numbers are expected, with commas between them")
            }
            rows.append((id, vector))
        }
        return rows
    }

    fileprivate static func bytes(_ path: String) throws -> [UInt8] {
        do { return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)) } catch {
            throw Failure("\(path) cannot be read: \(error.localizedDescription)")
        }
    }
}

/// An array of NumPy in C's order. What its header claims is compared with its size.
private struct NumPyArray {
    let shape: [Int]
    private let type: String
    private let data: ArraySlice<UInt8>
    private let path: String

    init(_ path: String) throws {
        let bytes = try VectorFile.bytes(path)
        func problem(_ what: String) -> Failure { Failure("\(path) cannot be read as a NumPy file: \(what)") }
        guard bytes.starts(with: [0x93] + Array("NUMPY".utf8)), bytes.count >= 12 else { throw problem("its first bytes differ") }
        let isLong = bytes[6] >= 2
        let size = (0..<(isLong ? 4 : 2)).reduce(0) { $0 | Int(bytes[8 + $1]) << (8 * $1) }
        let start = isLong ? 12 : 10
        guard size <= bytes.count - start else { throw problem("it ends within its header") }
        let header = String(decoding: bytes[start..<start + size], as: UTF8.self)
        guard let type = header.firstMatch(of: #/'descr': *'([^']*)'/#)?.1,
            let list = header.firstMatch(of: #/'shape': *\(([^)]*)\)/#)?.1
        else { throw problem("its header has no type or shape") }
        guard header.contains(#/'fortran_order': *False/#) else { throw problem("its numbers are in Fortran order") }
        let lengths = list.split(separator: ",").map { Int($0.trimmingCharacters(in: .whitespaces)) }
        shape = lengths.compactMap { $0 }
        let width = type.last.flatMap { Int(String($0)) } ?? 0
        var count = width
        for length in shape {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: length)
            guard length >= 0, !isTooLarge else { throw problem("its shape is impossible") }
            count = product
        }
        data = bytes[(start + size)...]
        guard shape.count == lengths.count, !shape.isEmpty, data.count == count else {
            throw problem("its size does not match its shape")
        }
        (self.type, self.path) = (String(type), path)
    }

    func floats() throws -> [Float] {
        switch type {
        case "<f4": return numbers(UInt32.self).map { Float(bitPattern: $0) }
        case "<f8": return numbers(UInt64.self).map { Float(Double(bitPattern: $0)) }
        default: throw Failure("\(path) has numbers of the type \(type): <f4 or <f8 is expected")
        }
    }

    func integers() throws -> [Int64] {
        guard type == "<i8" else { throw Failure("\(path) has numbers of the type \(type): <i8 is expected") }
        return numbers(UInt64.self).map { Int64(bitPattern: $0) }
    }

    private func numbers<T: FixedWidthInteger>(_: T.Type) -> [T] {
        data.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: T.bitWidth / 8).map { start in
                T(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: T.self))
            }
        }
    }
}
