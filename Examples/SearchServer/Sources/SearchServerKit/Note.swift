import Foundation
import Hummingbird
import SQLCipherKit

/// A note, as it is stored and as it is sent.
struct Note: SQLRecord, ResponseCodable {
    /// Not counted up, so that an address says nothing about other notes. A JSON number of any client can hold it.
    var id = Int64.random(in: 1...(1 << 53))
    var title: String
    var body: String
    var created = Date.now
}

/// A note as a client sends it.
struct Draft: Decodable {
    var title: String
    var body: String

    func note() throws -> Note {
        if title.isEmpty { throw HTTPError(.badRequest, message: "a note needs a title") }
        if title.count > 300 { throw HTTPError(.badRequest, message: "a title has at most 300 characters") }
        return Note(title: title, body: body)
    }
}
