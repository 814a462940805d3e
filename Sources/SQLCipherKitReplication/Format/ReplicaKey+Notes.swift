import Foundation
import SQLCipherKitFiles

extension ReplicaKey {
    /// Seals the content of a file beside a database: the nonce, and the sealed JSON.
    /// - Parameter label: the kind of the file, which is authenticated.
    func seal(note: some Encodable, as label: [UInt8]) throws -> [UInt8] {
        let nonce = try ReplicaKey.random(ReplicaKey.nonceCount)
        return try nonce + seal([UInt8](try JSONEncoder().encode(note)), with: label, nonce: nonce)
    }

    /// - Returns: nil for another key, or for a note that was changed.
    /// - Throws: if the sealed content has another form.
    func open<Note: Decodable>(note: some Collection<UInt8>, as label: [UInt8], _: Note.Type = Note.self) throws -> Note? {
        let nonce = Array(note.prefix(ReplicaKey.nonceCount)), sealed = Array(note.dropFirst(nonce.count))
        guard let plain = open(sealed[...], with: label, nonce: nonce) else { return nil }
        return try JSONDecoder().decode(Note.self, from: Data(plain))
    }
}

/// A number in a note. Decoding refuses a negative number, and a number above an eighth of the largest, so that sums of these
/// numbers cannot overflow.
@propertyWrapper struct NotedNumber<Number: FixedWidthInteger & Codable & Sendable>: Codable, Hashable, Sendable {
    var wrappedValue: Number

    init(wrappedValue: Number) { self.wrappedValue = wrappedValue }

    init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(Number.self)
        guard (0...Number.max >> 3).contains(wrappedValue) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a number is out of bounds"))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}
