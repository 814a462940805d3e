import Foundation

/// Encodes the value of one column: a value that codes itself as a single simple one, or else JSON. A column that a record writes
/// by itself, with `superEncoder(forKey:)` or a nested container, has its value once the record is encoded.
package final class ColumnEncoder: Encoder, SingleValueEncodingContainer {
    package let codingPath: [any CodingKey]
    /// The type that is encoded, and those that it encodes in its own place; none for a column that a record writes by itself.
    private var types: [any Any.Type]
    /// The form of dates where no type has its own form.
    private let dates: JSONDateStrategy
    private var single: (any SQLValueConvertible)?
    private var hasSingle = false
    /// The encoder of the JSON, once a container has been asked for.
    private var json: JSONBValueEncoder?
    /// True once the value has been taken.
    private var isOver = false

    init(_ codingPath: [any CodingKey], _ types: [any Any.Type], _ dates: JSONDateStrategy) {
        (self.codingPath, self.types, self.dates) = (codingPath, types, dates)
    }

    /// True if the value has dates in a form that a profile says.
    var hasDates: Bool { json?.sink.context.hasDates ?? false }

    /// The value for the column; nil for NULL.
    /// - Parameters:
    ///   - dates: how dates inside JSON are written.
    ///   - hasDates: is called if the value has such dates.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold, and any error that its own encoding
    ///   throws.
    package static func encode<T: Encodable>(
        _ value: T, _ codingPath: [any CodingKey], _ dates: JSONDateStrategy, hasDates: () -> Void = {}
    ) throws -> (any SQLValueConvertible)? {
        let encoder = ColumnEncoder(codingPath, [T.self], dates)
        do {
            do { try value.encode(to: encoder) } catch {
                encoder.drop()
                throw error
            }
            if encoder.hasDates { hasDates() }
            return try encoder.value()
        } catch let error as EncodingError {
            throw DatabaseError.invalidArgument(
                "the value for column \(codingPath.first?.stringValue ?? "") cannot be written as JSON: \(error.jsonDescription)")
        }
    }

    private var options: JSONCodingOptions { .of(types.first ?? Never.self, dates) }

    package var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        document.container(keyedBy: type)
    }
    package func unkeyedContainer() -> any UnkeyedEncodingContainer { document.unkeyedContainer() }
    package func singleValueContainer() -> any SingleValueEncodingContainer { self }

    private var document: JSONBValueEncoder {
        if let json { return json }
        let context = JSONBEncodingContext(options)
        let scope = context.scopes.scope(of: types)
        let made = JSONBValueEncoder(JSONBSink(context), depth: 0, scope: scope, parent: nil, key: nil)
        if hasSingle { made.fail("a second value or a container of another kind was requested") }
        if isOver { context.isOver = true }
        json = made
        return made
    }

    private func set(_ value: (any SQLValueConvertible)?) throws {
        if hasSingle || isOver || json != nil {
            throw EncodingError.invalidValue(value as Any, .own(codingPath, "the value has already been written"))
        }
        (single, hasSingle) = (value, true)
    }

    package func encodeNil() throws { try set(nil) }
    package func encode(_ value: Int128) throws { try set(value) }
    package func encode(_ value: UInt128) throws { try set(value) }
    package func encode<T: SQLValueConvertible & Encodable>(_ value: T) throws { try set(value) }

    package func encode<T: Encodable>(_ value: T) throws {
        if let convertible = value as? any SQLValueConvertible { return try set(convertible) }
        let outer = types
        types.append(T.self)
        do { try value.encode(to: self) } catch {
            // The outer type may write something else.
            drop()
            types = outer
            throw error
        }
    }

    /// Forgets what has been written.
    private func drop() {
        (single, hasSingle) = (nil, false)
        json?.sink.context.isOver = true
        json?.sink.end()
        json = nil
    }

    /// The value for the column; nil for NULL. Nothing more is accepted.
    func value() throws -> (any SQLValueConvertible)? {
        isOver = true
        guard let json else {
            // A value that encodes nothing is an object without members, as it would be inside another object.
            return hasSingle ? single : SQLValue.text("{}")
        }
        defer {
            json.sink.context.isOver = true
            json.sink.end()
        }
        json.finish()
        if let failure = json.sink.context.failure { throw failure }
        let format = options.columnFormat
        return json.sink.writer.withBytes { format == .jsonb ? SQLValue.blob(Data($0)) : .text(JSONB.text($0)) }
    }
}

/// A document with dates, which have the form that the profile of the connection says that binds it.
package struct DocumentWithDates: SQLValueConvertible, _HidesValues {
    /// In the order of the strategies.
    private let forms: [Result<SQLValue, any Error>]

    /// The value, if it is the same in each form.
    static func made(_ value: SQLValue, _ forms: [Result<SQLValue, any Error>]) -> any SQLValueConvertible {
        let isSame = forms.allSatisfy { if case .success(value) = $0 { true } else { false } }
        return isSame ? value : DocumentWithDates(forms: forms)
    }

    private init(forms: [Result<SQLValue, any Error>]) { self.forms = forms }

    package init?(sqlValue: SQLValue) { nil }

    /// The value for a column of a connection that is not known; nil for NULL.
    /// - Throws: the errors of ``ColumnEncoder/encode(_:_:_:hasDates:)``.
    package static func encode<T: Encodable>(_ value: T) throws -> (any SQLValueConvertible)? {
        var hasDates = false
        // Every date can be written in this form.
        let first = try ColumnEncoder.encode(value, [], .deferredToDate) { hasDates = true }
        guard hasDates, let document = first as? SQLValue else { return first }
        return made(document, JSONDateStrategy.allCases.map { dates in
            Result { try ColumnEncoder.encode(value, [], dates) as? SQLValue ?? document }
        })
    }

    package static var _isJSONDocument: Bool { true }
    package var sqlValue: SQLValue { get throws { try sqlValue(in: .standard) } }
    package func sqlValue(in profile: ValueProfile) throws -> SQLValue { try forms[Int(profile.jsonDates.rawValue)].get() }
}

/// The key type of a container without keys.
enum NoKey: CodingKey {}

/// A container that accepts nothing: encoding anything into it throws.
struct RefusingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol, UnkeyedEncodingContainer, SingleValueEncodingContainer,
    Encoder
{
    let error: any Error

    init(_ error: any Error) { self.error = error }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var count: Int { 0 }

    func encodeNil() throws { throw error }
    func encodeNil(forKey key: Key) throws { throw error }
    func encode<T: Encodable>(_ value: T) throws { throw error }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { throw error }
    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { throw error }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) -> KeyedEncodingContainer<N> {
        nestedContainer(keyedBy: type)
    }
    func nestedContainer<N: CodingKey>(keyedBy type: N.Type) -> KeyedEncodingContainer<N> {
        KeyedEncodingContainer(RefusingContainer<N>(error))
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { self }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
    func superEncoder() -> any Encoder { self }
    func superEncoder(forKey key: Key) -> any Encoder { self }
    func container<N: CodingKey>(keyedBy type: N.Type) -> KeyedEncodingContainer<N> { nestedContainer(keyedBy: type) }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}
