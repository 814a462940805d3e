import Foundation
import SQLCipherKitCore

/// The position of a copy in the objects that another copy, or the copy itself, has put into a store.
struct ChangeChain: Hashable, Codable, Sendable {
    /// The number of the next object.
    var next: Int64
    /// The tag of the object before it; nil if nothing was read.
    var tag: [UInt8]?
    /// The entries that are in the objects so far, and those that they follow.
    var until = ChangeLog.Position()
    /// The number of the first object of the last message with all rows, its size in bytes, and that of the messages after it.
    var wholeAt: Int64 = 0, wholeSize = 0, size = 0
    /// The size of the last object. Another object in its place has another size, as each is padded at random.
    var lastSize = 0
    /// When this copy last stored something, in seconds since 1970.
    var time: Int64 = 0
    /// The copy's position, if it asks for all rows, and the number of the object after its question.
    var asks: ChangeLog.Position?, askedAt: Int64?
    /// The number of the question that was answered last.
    var answered: Int64?
    /// The checksums that the copy has told last. Those of another one are forgotten once they have been compared.
    var sums: ChangeLog.RowSums?
    /// When this copy told its own, and when it asked; and the checksums in its last message that mends others.
    var checked: Int64?, asked: Int64?, mended: ChangeLog.RowSums?

    init(next: Int64) { self.next = next }

    /// Moves after a message.
    mutating func append(_ count: Int, from start: Int64, next: Int64, tag: [UInt8], isWhole: Bool) {
        (self.next, self.tag) = (next, tag)
        if isWhole { (wholeAt, wholeSize, size) = (start, count, 0) } else { size += count }
    }

    /// Notes a message's statements about its sender.
    mutating func note(_ message: ChangeLog.Message) {
        until = until.merged(with: message.until)
        (asks, askedAt) = (message.asks, next)
        if !message.sums.isEmpty { sums = ChangeLog.RowSums(position: message.until, tables: message.sums) }
    }
}
