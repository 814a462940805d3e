import Foundation
import SQLCipherKit

/// The values of a row to write: of the row that a statement is at, or at hand.
enum RowValues {
    case lent(OpaquePointer, count: Int)
    case list([SQLValue])

    var count: Int {
        switch self {
        case .lent(_, let count): count
        case .list(let values): values.count
        }
    }

    /// Lends a value to `body`.
    @inline(__always)
    func lend<R>(_ index: Int, _ body: (LentValue) throws -> R) throws -> R {
        switch self {
        case .lent(let row, _): return try body(LentValue(row, Int32(index)))
        case .list(let values):
            switch values[index] {
            case .null: return try body(.null)
            case .integer(let value): return try body(.integer(value))
            case .real(let value): return try body(.real(value))
            case .text(var text): return try text.withUTF8 { try body(.text(UnsafeRawBufferPointer($0))) }
            case .blob(let blob): return try blob.withUnsafeBytes { try body(.blob($0)) }
            }
        }
    }

    /// All values; text that is not UTF-8 becomes a blob.
    func values() throws -> [SQLValue] {
        if case .list(let values) = self { return values }
        return try (0..<count).map { try lend($0, SQLValue.init(copying:)) }
    }

    /// Appends the values as SQL writes them, with commas between them.
    func appendLiterals(to sql: inout [UInt8]) throws {
        for index in 0..<count {
            if index > 0 { sql.append(ascii: ", ") }
            switch self {
            case .lent(let row, _): try SQLLiterals.append(row, Int32(index), to: &sql)
            case .list(let values): SQLLiterals.append(values[index], to: &sql)
            }
        }
    }
}

extension SQLValue {
    /// A copy; text that is not UTF-8 becomes a blob.
    init(copying value: LentValue) {
        self = switch value {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .text(let bytes): String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .blob(Data(bytes))
        case .blob(let bytes): .blob(Data(bytes))
        }
    }
}

/// Writes a result's rows to the output, one after the other.
protocol RowWriter: AnyObject {
    func write(_ row: RowValues) throws
    func finish()
}

extension RowWriter {
    func write(_ row: [SQLValue]) throws { try write(.list(row)) }

    /// Writes a row of a statement that is running.
    func write(_ row: borrowing Row) throws { try write(.lent(row.handle, count: row.count)) }
}
