import CSQLCipher

/// The names of a statement's columns, read once and looked up without hashing.
///
/// Columns are usually read in the same order for each row, so a search begins after the last column found, and a literal is
/// recognized by its address. The memory is raw so that a look-up costs no retain, bounds check or exclusivity check.
@usableFromInline
package final class ColumnNames {
    @usableFromInline let count: Int
    @usableFromInline let literals: UnsafeMutablePointer<UnsafeRawPointer?>
    @usableFromInline let next: UnsafeMutablePointer<Int>
    let names: [String]
    /// The columns that can be found by name.
    @usableFromInline package let range: Range<Int>
    private let utf8: UnsafeMutablePointer<UnsafeMutableBufferPointer<UInt8>>
    /// The parts of the row that were asked for; see ``Row/scope(_:as:)``.
    var parts: [(name: String, names: ColumnNames)] = []
    /// The ways in which the rows were read so far; see RowReading.
    var readings: [RowReading] = []
    /// The last of them, without reference counting.
    @usableFromInline @exclusivity(unchecked) var lastReading: Unmanaged<RowReading>?
    @usableFromInline @exclusivity(unchecked) var knownDecoding: RowDecodingState?
    /// The state of decoding rows with these columns into Codable types.
    @inlinable package var decoding: RowDecodingState { knownDecoding ?? beginDecoding() }

    /// - Parameter range: the columns that can be found by name; nil for all.
    package init(_ handle: OpaquePointer, only range: Range<Int>? = nil) {
        count = Int(sqlite3_column_count(handle))
        let names = (0..<count).map { index in
            // No column name contains a NUL character, so this one is never found.
            if let range, !range.contains(index) { return "\0" }
            return sqlite3_column_name(handle, Int32(index)).map { String(cString: $0) } ?? ""
        }
        self.names = names
        self.range = range ?? 0..<(names.firstIndex { $0.hasPrefix(Self.partPrefix) } ?? count)
        // There is one slot more than columns: `next` may point past the last one, or at the only slot of a row without columns.
        literals = .allocate(capacity: count + 1)
        literals.initialize(repeating: nil, count: count + 1)
        next = .allocate(capacity: 1)
        next.initialize(to: 0)
        utf8 = .allocate(capacity: count + 1)
        for (index, name) in names.enumerated() {
            let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.utf8.count)
            _ = bytes.initialize(from: name.utf8)
            (utf8 + index).initialize(to: bytes)
        }
    }

    deinit {
        for index in 0..<count { utf8[index].deallocate() }
        utf8.deallocate()
        next.deallocate()
        literals.deallocate()
    }

    @usableFromInline
    @inline(never)
    func beginDecoding() -> RowDecodingState {
        let made = RowDecodingState(self)
        knownDecoding = made
        return made
    }

    /// The index of the column with this name, or -1.
    @inlinable
    @inline(__always)
    func index(of name: StaticString) -> Int32 {
        guard name.hasPointerRepresentation else { return index(of: name.description) }
        let address = UnsafeRawPointer(name.utf8Start)
        let candidate = next.pointee
        if literals[candidate] == address {
            next.pointee = candidate &+ 1 == count ? 0 : candidate &+ 1
            return Int32(truncatingIfNeeded: candidate)
        }
        return find(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), literal: address)
    }

    @inlinable
    func index(of name: String) -> Int32 {
        var name = name
        return name.withUTF8 { find($0, literal: nil) }
    }

    /// Finds a column by its exact name or, if none matches, ignoring ASCII case.
    @usableFromInline
    @inline(never)
    func find(_ name: UnsafeBufferPointer<UInt8>, literal: UnsafeRawPointer?) -> Int32 {
        // Of several columns with the same name the first one is found, so the hint only helps for unique names.
        guard let found = first(name, caseSensitive: true) ?? first(name, caseSensitive: false) else { return -1 }
        if literal != nil { literals[found] = literal }
        next.pointee = found + 1 == count ? 0 : found + 1
        return Int32(found)
    }

    private func first(_ name: UnsafeBufferPointer<UInt8>, caseSensitive: Bool) -> Int? {
        range.first { index in
            let column = utf8[index]
            guard column.count == name.count else { return false }
            return zip(column, name).allSatisfy { caseSensitive ? $0 == $1 : $0.lowercasedASCII == $1.lowercasedASCII }
        }
    }
}

extension ColumnNames {
    /// The beginning of the name of the column before a part.
    package static let partPrefix = "sqlcipherkit_part_"

    /// The columns of a part; nil if there is none of this name.
    package func part(_ name: String, _ handle: OpaquePointer) -> ColumnNames? {
        if let known = parts.first(where: { $0.name.isSameText(as: name) }) { return known.names }
        guard let marker = names.firstIndex(ofText: Self.partPrefix + name) else { return nil }
        let end = names[(marker + 1)...].firstIndex { $0.hasPrefix(Self.partPrefix) } ?? names.count
        let made = ColumnNames(handle, only: marker + 1..<end)
        parts.append((name, made))
        return made
    }
}
