import Foundation
import SQLCipherKit

/// Reads a bound value back as some type, by every way that reads values.
struct ValueStep: Step {
    enum Kind: String, CaseIterable, Sendable { case int, int8, uint64, double, float, bool, string, data, bytes, optionalInt, uuid, date }

    var value: SQLValue
    var kind: Kind

    func run(in world: World) throws {
        guard !world.isAborted else { return }
        try world.only(rule) { db in
            let one: String? = try read(db)
            return one.map { .text($0) } ?? .text("nil")
        }
    }

    private func read(_ db: Connection) throws -> String? {
        func text<T: SQLValueConvertible>(_ type: T.Type, _ show: (T) -> String) throws -> String {
            let all = try db.fetchAll(type, "SELECT \(value)").map(show)
            let tuple = try db.fetchOne((T, Int).self, "SELECT \(value), 1").map { show($0.0) }
            let cursor = try db.cursor(type, "SELECT ?1", [value]).next().map(show)
            let copy: T = try db.fetchAll(OwnedRow.self, "SELECT ?1 AS x", [value])[0]["x"]
            guard all == [tuple], cursor == tuple, show(copy) == tuple else {
                throw Mismatch(description: "the ways to read differ: \(all), \(tuple ?? "nil"), \(cursor ?? "nil"), \(show(copy))")
            }
            return all[0]
        }
        return switch kind {
        case .int: try text(Int.self) { "\($0)" }
        case .int8: try text(Int8.self) { "\($0)" }
        case .uint64: try text(UInt64.self) { "\($0)" }
        case .double: try text(Double.self) { "\($0.bitPattern)" }
        case .float: try text(Float.self) { "\($0)" }
        case .bool: try text(Bool.self) { "\($0)" }
        case .string: try text(String.self) { "\(Array($0.utf8))" }
        case .data: try text(Data.self) { "\(Array($0))" }
        case .bytes: try text([UInt8].self) { "\($0)" }
        case .optionalInt: try text(Int?.self) { $0.map { "\($0)" } ?? "none" }
        case .uuid: try text(UUID.self) { "\($0)" }
        case .date: try text(Date.self) { "\($0.timeIntervalSince1970)" }
        }
    }

    /// The rule of the documentation, in other words than the package's.
    private var rule: Outcome {
        let mismatch = Outcome.refused(.typeMismatch)
        if case .real(let number) = value, number.isNaN { return .refused(.invalidArgument) }
        if value == .null { return kind == .optionalInt ? .text("none") : .refused(.unexpectedNull) }
        switch kind {
        case .int, .optionalInt: return integer.map { .text("\($0)") } ?? mismatch
        case .int8: return integer.flatMap { Int8(exactly: $0) }.map { .text("\($0)") } ?? mismatch
        case .uint64: return integer.flatMap { UInt64(exactly: $0) }.map { .text("\($0)") } ?? mismatch
        case .bool: return integerOnly.flatMap { $0 == 0 ? .text("false") : $0 == 1 ? .text("true") : nil } ?? mismatch
        case .double:
            if case .real(let number) = value { return .text("\(number.bitPattern)") }
            return integerOnly.flatMap { Double(exactly: $0) }.map { .text("\($0.bitPattern)") } ?? mismatch
        case .float:
            guard case .real(let number) = value else { return integerOnly.flatMap { Float(exactly: $0) }.map { .text("\($0)") } ?? mismatch }
            return number.isFinite && !Float(number).isFinite ? mismatch : .text("\(Float(number))")
        case .string:
            if case .text(let text) = value { return .text("\(Array(text.utf8))") }
            return mismatch
        case .data, .bytes:
            if case .text(let text) = value { return .text("\(Array(text.utf8))") }
            if case .blob(let data) = value { return .text("\(Array(data))") }
            return mismatch
        case .uuid: return mismatch
        // Numbers are dates in some form; text here is none.
        case .date:
            switch value {
            case .integer, .real: return .either
            default: return mismatch
            }
        }
    }

    private var integerOnly: Int64? { if case .integer(let number) = value { number } else { nil } }

    private var integer: Int64? {
        if case .real(let number) = value { return Int64(exactly: number) }
        return integerOnly
    }

    var description: String { "try db.fetchAll(\(kind), \"SELECT \\(value)\")  // \(show(value))" }
}

extension Sketch {
    mutating func valueStep() -> (any Step)? { ValueStep(value: dice.value(), kind: dice.pick(ValueStep.Kind.allCases)) }
}
