import Foundation

/// A write-ahead log as a file (<https://sqlite.org/fileformat2.html#the_write_ahead_log>).
package struct WriteAheadLog {
    package var bytes: Data
    private let frame: Int

    package init(_ bytes: Data, pageSize: Int) {
        self.bytes = bytes
        frame = 24 + pageSize
    }

    private var frames: StrideTo<Int> { stride(from: 32, to: bytes.count - frame + 1, by: frame) }

    private func word(_ offset: Int, bigEndian: Bool = true) -> UInt32 {
        let value = bytes[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return bigEndian ? value : value.byteSwapped
    }

    /// The size of the database in pages for a frame that ends a transaction, 0 for the others; one number for each frame.
    package var commits: [UInt32] { frames.map { word($0 + 4) } }

    /// Drops the frames after the first `count`, and makes the last kept frame the end of a transaction.
    package mutating func keep(_ count: Int, pages: UInt32) {
        bytes = bytes.prefix(32 + count * frame)
        let size = (0..<4).map { UInt8(truncatingIfNeeded: pages >> (24 - 8 * $0)) }
        bytes.replaceSubrange(32 + (count - 1) * frame + 4..<32 + (count - 1) * frame + 8, with: size)
    }

    /// The numbers of the frames' pages.
    package var pages: [Int] { frames.map { Int(word($0)) } }

    /// Writes the page of one frame, counted from 0, into another, and the other's into the first if they are swapped.
    package mutating func copyPage(_ from: Int, to: Int, swapped: Bool = false) {
        let starts = Array(frames)
        let ranges = [from, to].map { starts[$0] + 24..<starts[$0] + frame }
        let pages = ranges.map { Data(bytes[$0]) }
        bytes.replaceSubrange(ranges[1], with: pages[0])
        if swapped { bytes.replaceSubrange(ranges[0], with: pages[1]) }
    }

    /// - Returns: in how many frames.
    package mutating func zero(page: Int) -> Int {
        let found = frames.filter { word($0) == UInt32(page) }
        for start in found { bytes.replaceSubrange(start + 24..<start + frame, with: Data(count: frame - 24)) }
        return found.count
    }

    /// Takes the authentication of a page off in each frame that has it, as
    /// ``TemporaryFolder/stripAuthentication(_:pageSize:pages:flipping:)`` does in a file.
    /// - Parameter change: a byte of the page to change, and the bits to flip.
    package mutating func strip(page: Int, flipping change: (offset: Int, bits: UInt8)) {
        for start in frames where word(start) == UInt32(page) {
            let end = start + frame
            bytes.replaceSubrange(end - 16..<end, with: Data(bytes[end - 80..<end - 64]))
            bytes[start + 24 + change.offset] ^= change.bits
        }
    }

    /// Makes the checksums right.
    package mutating func sign() {
        let isBigEndian = word(0) & 1 == 1
        var (a, b) = (UInt32(0), UInt32(0))
        func add(_ range: Range<Int>) {
            for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                a = a &+ word(offset, bigEndian: isBigEndian) &+ b
                b = b &+ word(offset + 4, bigEndian: isBigEndian) &+ a
            }
        }
        func sum() -> Data { Data([a, b].flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }) }
        add(0..<24)
        bytes.replaceSubrange(24..<32, with: sum())
        for start in frames where word(start + 8) == word(16) && word(start + 12) == word(20) {
            add(start..<start + 8)
            add(start + 24..<start + frame)
            bytes.replaceSubrange(start + 16..<start + 24, with: sum())
        }
    }
}
