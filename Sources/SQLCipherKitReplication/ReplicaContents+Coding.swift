import Foundation

/// A short form, as the manifest has an entry for each object of the log and is stored with each look at the log.
extension ReplicaContents.LogObject {
    init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        name = try values.decode(String.self)
        level = try values.decode(Int.self)
        first = try values.decode(UInt64.self)
        end = try values.decode(UInt64.self)
        commitsBefore = try values.decode(UInt64.self)
        commits = try values.decode(UInt64.self)
        earliest = try values.decode(Int64.self)
        latest = try values.decode(Int64.self)
        size = try values.decode(Int.self)
        predecessor = [UInt8](try values.decode(Data.self))
        tag = [UInt8](try values.decode(Data.self))
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        try values.encode(name)
        try values.encode(level)
        for position in [first, end, commitsBefore, commits] { try values.encode(position) }
        for time in [earliest, latest] { try values.encode(time) }
        try values.encode(size)
        for bytes in [predecessor, tag] { try values.encode(Data(bytes)) }
    }
}
