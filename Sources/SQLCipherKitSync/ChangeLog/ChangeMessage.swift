import Foundation
import SQLCipherKitCore

extension ChangeLog {
    /// A message from one peer to another: the entries that the receiver lacks, and the known position of every peer. See
    /// ``ChangeLog/changes(since:)``.
    ///
    /// Send it in any way: as ``data``, or as part of any `Codable` type. The bytes contain rows in plaintext, and nothing in them
    /// proves their origin: encrypt and authenticate them before they leave the program.
    public struct Message: Hashable, Sendable {
        /// The peer that made the message.
        public let sender: String
        /// The entries that the receiver must have already.
        public let since: Position
        /// The entries that the receiver certainly has after it has received the message.
        public let until: Position
        /// The conflict rules of the sender's tables, by the tables' names.
        let rules: [String: ChangeLog.MergePolicy]
        /// The comparison of keys in the sender's tables, by the tables' names.
        let keys: [String: [String]]
        /// The positions of the peers that the sender knows.
        let peers: [String: Position]
        /// The peers that the sender knows to be removed.
        let removed: Set<String>
        let entries: [ChangeLogEntry]
        /// The time up to which the sender has forgotten deletes.
        let horizon: Int64
        /// All rows, in place of entries.
        let state: ChangeLogState?
        /// True if peers with different rows exist, so that even a peer with all entries merges the rows.
        package internal(set) var isMend = false
        /// Checksums of the sender's rows, with all entries up to ``until``; see ``ChangeLog/RowSums``.
        package internal(set) var sums: [String: Int64] = [:]
        /// The sender's position, if the sender asks for all rows because it cannot get the entries that it lacks.
        package internal(set) var asks: Position?

        /// The number of entries, each a transaction of one peer.
        public var count: Int { entries.count }

        /// True if the message has no entries and is no snapshot. It still contains the sender's position, which allows the
        /// receiver to prune its log.
        public var isEmpty: Bool { entries.isEmpty && state == nil }

        /// True if the message has all rows of the sender's tables: see ``ChangeLog/snapshot()``.
        public var isSnapshot: Bool { state != nil }

        private static let mark: [UInt8] = Array("SCKlog".utf8), version: [UInt8] = Array("7".utf8)

        init(
            sender: String, since: Position, until: Position, horizon: Int64, tables: [LoggedTable],
            peers: [String: Position], removed: Set<String>, entries: [ChangeLogEntry], state: ChangeLogState?
        ) {
            (self.sender, self.since, self.until, self.horizon, self.state) = (sender, since, until, horizon, state)
            rules = Dictionary(tables.map { ($0.name, $0.rule) }) { first, _ in first }
            keys = Dictionary(tables.map { ($0.name, $0.identity.description) }) { first, _ in first }
            (self.peers, self.removed, self.entries) = (peers, removed, entries)
        }

        /// Reads a message from its bytes, which may be untrusted.
        /// - Throws: ``ResultCode/corrupt`` if the bytes are not a message.
        public init(data: Data) throws {
            guard data.starts(with: Self.mark) else { throw DatabaseError.malformedLog }
            guard data.starts(with: Self.mark + Self.version) else {
                throw DatabaseError(
                    code: .corrupt, message: "the message has the format of another version: update the older program")
            }
            var reader = ByteReader(log: data.dropFirst(Self.mark.count + Self.version.count))
            sender = try reader.peer()
            since = try reader.logPosition()
            until = try reader.logPosition()
            horizon = try reader.clock()
            var rules: [String: ChangeLog.MergePolicy] = [:], keys: [String: [String]] = [:]
            for _ in 0..<(try reader.count()) {
                let name = try reader.text()
                guard let rule = ChangeLog.MergePolicy(rawValue: try reader.text()) else { throw DatabaseError.malformedLog }
                rules[name] = rule
                keys[name] = try reader.names()
            }
            (self.rules, self.keys) = (rules, keys)
            var peers: [String: Position] = [:]
            for _ in 0..<(try reader.count()) {
                let peer = try reader.peer()
                peers[peer] = try reader.logPosition()
            }
            self.peers = peers
            removed = Set(try reader.list { reader in try reader.peer() })
            entries = try reader.list { reader in try ChangeLogEntry(&reader) }
            let kind = try reader.varint()
            guard kind == 0 || kind <= 2 && entries.isEmpty, horizon <= until.latest else { throw DatabaseError.malformedLog }
            state = kind == 0 ? nil : try ChangeLogState(&reader, until)
            isMend = kind == 2
            for _ in 0..<(try reader.count()) { sums[try reader.text()] = try reader.signed() }
            if try reader.varint() > 0 { asks = try reader.logPosition() }
            try reader.end()
        }

        /// The message as bytes.
        public var data: Data {
            var writer = [UInt8]()
            writer.put(sender)
            writer.put(since)
            writer.put(until)
            writer.put(clock: horizon)
            writer.append(varint: rules.count)
            for (name, rule) in rules.sorted(by: { $0.key < $1.key }) {
                writer.put(name)
                writer.put(rule.rawValue)
                writer.put(keys[name] ?? [])
            }
            writer.append(varint: peers.count)
            for (peer, position) in peers.sorted(by: { $0.key < $1.key }) {
                writer.put(peer)
                writer.put(position)
            }
            writer.put(removed.sorted())
            writer.append(varint: entries.count)
            for entry in entries { entry.write(&writer) }
            writer.append(varint: state == nil ? 0 : isMend ? 2 : 1)
            state?.write(&writer)
            writer.append(varint: sums.count)
            for (table, sum) in sums.sorted(by: { $0.key < $1.key }) {
                writer.put(table)
                writer.append(signed: sum)
            }
            writer.append(varint: asks == nil ? 0 : 1)
            if let asks { writer.put(asks) }
            return Data(Self.mark + Self.version + writer)
        }
    }
}

extension ChangeLog.Message: Codable {
    /// Decodes a message from its bytes.
    /// - Throws: the errors of ``init(data:)``, and errors of the decoder.
    public init(from decoder: any Decoder) throws { try self.init(data: decoder.singleValueContainer().decode(Data.self)) }

    /// Encodes the message as its bytes.
    /// - Throws: errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }
}

extension ChangeLog.Message: _HidesValues {}
