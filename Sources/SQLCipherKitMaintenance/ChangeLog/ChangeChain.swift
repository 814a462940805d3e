import Foundation
import SQLCipherKitCore

/// What a copy has read of the objects that another one, or itself, has put into a store.
package struct ChangeChain: Hashable, Codable, Sendable {
    /// The number of the next object.
    package var next: Int64
    /// The tag of the object before it; nil if nothing was read.
    package var tag: [UInt8]?
    /// The entries that are in the objects so far, and those that they follow.
    package var until = ChangeLog.Position()
    /// The number of the first object of the last message with all rows, its size in bytes, and that of the messages after it.
    package var wholeAt: Int64 = 0, wholeSize = 0, size = 0
    /// The size of the last object. Another one in its place has another size, as each is padded at random.
    package var lastSize = 0
    /// When this copy last stored something, in seconds since 1970.
    package var time: Int64 = 0
    /// What the copy has, if it asks for all rows, and the number of the object after its question.
    package var asks: ChangeLog.Position?, askedAt: Int64?
    /// The number of the question that was answered last.
    package var answered: Int64?
    /// The checksums that the copy has told last. Those of another one are forgotten once they have been compared.
    package var sums: ChangeLog.RowSums?
    /// When this copy told its own, and when it asked; and the checksums in its last message that mends others.
    package var checked: Int64?, asked: Int64?, mended: ChangeLog.RowSums?

    package init(next: Int64) { self.next = next }

    /// Moves after a message.
    package mutating func append(_ count: Int, from start: Int64, next: Int64, tag: [UInt8], isWhole: Bool) {
        (self.next, self.tag) = (next, tag)
        if isWhole { (wholeAt, wholeSize, size) = (start, count, 0) } else { size += count }
    }

    /// Notes what a message says of the copy that it is from.
    package mutating func note(_ message: ChangeLog.Message) {
        until = until.merged(with: message.until)
        (asks, askedAt) = (message.asks, next)
        if !message.sums.isEmpty { sums = ChangeLog.RowSums(position: message.until, tables: message.sums) }
    }
}

extension ChangeLog {
    /// What was read of the chains in a store, by the names of the chains.
    package func chains(in store: [UInt8]) throws -> [[UInt8]: ChangeChain] {
        let rows: [([UInt8], Data)] = try connection.fetchAll(
            "SELECT chain, state FROM main.changelog_chain WHERE store = \(store)")
        var chains: [[UInt8]: ChangeChain] = [:]
        for (name, state) in rows {
            let chain: ChangeChain = try ChangeLogStore.decoded(
                state, "changelog_chain do not say what was read of a store: without that table's rows, all is read again")
            let numbers = [chain.next, chain.wholeAt, Int64(chain.wholeSize), Int64(chain.size), Int64(chain.lastSize)]
            let times = [chain.time, chain.checked ?? 0, chain.asked ?? 0, chain.askedAt ?? 0, chain.answered ?? 0]
            guard numbers.allSatisfy({ (0...1 << 50).contains($0) }), times.allSatisfy({ $0.magnitude < 1 << 50 }) else {
                throw ChangeLogStore.outOfBounds("chain")
            }
            chains[name] = chain
        }
        return chains
    }

    package func setChain(_ chain: ChangeChain, _ name: [UInt8], in store: [UInt8]) throws {
        let state = try JSONEncoder().encode(chain)
        try connection.execute("INSERT OR REPLACE INTO main.changelog_chain VALUES (\(store), \(name), \(state))")
    }

    /// Whether others can take this copy's entries only after all its rows.
    package var lacksWholeState: Bool { get throws { try store.state(ChangeLogStore.lacks, as: Bool.self) ?? false } }

    /// Others can have all rows now.
    package func hasWholeState() throws { try store.setState(ChangeLogStore.lacks, to: .integer(0)) }
}

extension ChangeLogStore {
    func forgetChains() throws(DatabaseError) { try db.execute("DELETE FROM main.changelog_chain") }
}
