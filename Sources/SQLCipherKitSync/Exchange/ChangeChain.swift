import Foundation
import SQLCipherKitCore

/// The position of a copy in the objects that another copy, or the copy itself, has put into a store.
struct ChangeChain: Hashable, Codable, Sendable {
    /// The number of the next object.
    var next: Int64
    /// The tag of the object before it; nil if nothing was read.
    var tag: [UInt8]?
    /// The entries in the objects so far, and the entries that these objects follow.
    var until = ChangeLog.Position()
    /// The number of the first object of the last message with all rows, the size of that message in bytes, and the size of the
    /// later messages.
    var wholeAt: Int64 = 0, wholeSize = 0, size = 0
    /// The size of the last object. A different object in its place has a different size, because each object has random padding.
    var lastSize = 0
    /// When this copy last stored something, in seconds since 1970.
    var time: Int64 = 0
    /// The copy's position if the copy asks for all rows, and the number of the object after its request.
    var asks: ChangeLog.Position?, askedAt: Int64?
    /// The number of the last answered request.
    var answered: Int64?
    /// The last checksums that the copy sent. The checksums of another copy are forgotten after the comparison.
    var sums: ChangeLog.RowSums?
    /// When this copy last sent its checksums, when it last asked for all rows, and the checksums in its last message that mends
    /// other copies.
    var checked: Int64?, asked: Int64?, mended: ChangeLog.RowSums?

    init(next: Int64) { self.next = next }

    /// Moves the position after a message.
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
