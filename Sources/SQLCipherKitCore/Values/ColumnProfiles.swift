import CSQLCipher

/// A `Codable` type that customizes its columns: their names, and the forms in which they store dates, UUIDs and decimals. Every
/// ``SQLRecord`` conforms.
public protocol ColumnCodingCustomizable {
    /// The forms in which individual columns, by name, store dates, UUIDs and decimals, if these differ from the connection's
    /// ``DatabaseConfiguration/valueProfile``. They apply whenever the type is read or written, and in a record's queries; values
    /// in your own SQL have the connection's profile. If a name does not match a column exactly, writing a record throws. Default:
    /// empty.
    /// ```swift
    /// static let columnProfiles: [String: ValueProfile] = ["created": .sap]
    /// ```
    static var columnProfiles: [String: ValueProfile] { get }

    /// The rule by which coding keys become the names of columns, wherever the type is read and written, and in a record's queries.
    /// Default: ``ColumnNaming/codingKeys``.
    /// ```swift
    /// static let columnNaming = ColumnNaming.snakeCase             // `artistID` is in the column artist_id
    /// ```
    static var columnNaming: ColumnNaming { get }
}

extension ColumnCodingCustomizable {
    public static var columnProfiles: [String: ValueProfile] { [:] }

    public static var columnNaming: ColumnNaming { .codingKeys }
}

/// The profiles that a type has for columns.
func columnProfiles(of type: any Any.Type) -> [String: ValueProfile] {
    (type as? any ColumnCodingCustomizable.Type)?.columnProfiles ?? [:]
}

/// The naming of a type's columns.
package func columnNaming(of type: any Any.Type) -> ColumnNaming {
    (type as? any ColumnCodingCustomizable.Type)?.columnNaming ?? .codingKeys
}

/// The profiles of those columns of a result that have their own, in memory that does not move: a column that is lent to be read
/// points to it.
// Nothing changes it after its initializer, so any thread may read it.
package final class ColumnProfiles: @unchecked Sendable {
    /// A pointer for each column; nil for the connection's profile.
    @usableFromInline package let pointers: UnsafePointer<UnsafePointer<ValueProfile>?>
    private let storage: UnsafeMutablePointer<ValueProfile>

    package init(_ profiles: [ValueProfile?]) {
        storage = .allocate(capacity: profiles.count)
        let pointers = UnsafeMutablePointer<UnsafePointer<ValueProfile>?>.allocate(capacity: profiles.count)
        for (index, profile) in profiles.enumerated() {
            (storage + index).initialize(to: profile ?? .standard)
            (pointers + index).initialize(to: profile == nil ? nil : UnsafePointer(storage + index))
        }
        self.pointers = UnsafePointer(pointers)
    }

    deinit {
        storage.deallocate()
        pointers.deallocate()
    }
}

/// The reading of rows with some columns as one type of record, determined at the first row.
@usableFromInline
package final class RowReading {
    @usableFromInline let type: ObjectIdentifier
    /// True if the record reads its columns in order. Otherwise it is decoded, and asks for them by name.
    @usableFromInline let isPositional: Bool
    /// The names of the record's columns, in its order; empty if it is decoded.
    package let properties: [String]
    /// The number of the record's columns.
    @usableFromInline package let count: Int32
    /// The column of each; -1 if the row has none. Nil if they are the row's first columns, in order.
    @usableFromInline package let order: UnsafePointer<Int32>?
    /// The profiles of the row's columns, if some have their own.
    @usableFromInline package let own: UnsafePointer<UnsafePointer<ValueProfile>?>?
    private let profiles: ColumnProfiles?
    /// The rule by which the keys of a decoded type become names.
    let naming: ColumnNaming
    /// The keys that differ from the names of their properties.
    private(set) lazy var coded = CodedNames.of(type)

    init(_ names: ColumnNames, _ record: any Any.Type, _ columns: [String]?) {
        let properties = columns ?? []
        let profiles = columnProfiles(of: record)
        type = ObjectIdentifier(record)
        naming = columnNaming(of: record)
        isPositional = columns != nil
        self.properties = properties
        count = Int32(properties.count)
        self.profiles = profiles.isEmpty ? nil : ColumnProfiles(names.names.map { profiles[$0] })
        own = self.profiles?.pointers
        let isInOrder = names.range.count == properties.count
            && zip(names.range, properties).allSatisfy { names.names[$0].isSameName(as: $1) }
        if isInOrder || properties.isEmpty {
            order = nil
        } else {
            let order = UnsafeMutablePointer<Int32>.allocate(capacity: properties.count)
            for (place, name) in properties.enumerated() { (order + place).initialize(to: names.index(of: name)) }
            self.order = UnsafePointer(order)
        }
    }

    deinit { order?.deallocate() }
}

extension ColumnNames {
    /// Returns the reading for the type that was read last, if it is this type.
    @inlinable
    @inline(__always)
    package func known(_ type: ObjectIdentifier, isPositional: Bool) -> Unmanaged<RowReading>? {
        guard let lastReading,
            lastReading._withUnsafeGuaranteedRef({ $0.type == type && $0.isPositional == isPositional })
        else { return nil }
        return lastReading
    }

    /// Returns the reading of rows as a type of record, determined the first time. A statement is read as few types.
    /// - Parameter columns: the record's columns in its order; nil for a type that is decoded.
    package func learn(_ type: any Any.Type, _ columns: [String]?) -> Unmanaged<RowReading> {
        let id = ObjectIdentifier(type)
        if let known = readings.first(where: { $0.type == id && $0.isPositional == (columns != nil) }) {
            lastReading = Unmanaged.passUnretained(known)
            return Unmanaged.passUnretained(known)
        }
        let made = RowReading(self, type, columns)
        readings.append(made)
        lastReading = Unmanaged.passUnretained(made)
        return Unmanaged.passUnretained(made)
    }
}

extension ValueProfile {
    private static let name = "sqlcipherkit_values"

    /// Leaves the profile with a connection's handle, for columns to find.
    func attach(to handle: OpaquePointer) -> Int32 {
        let copy = UnsafeMutablePointer<ValueProfile>.allocate(capacity: 1)
        copy.initialize(to: self)
        // SQLite releases it when the connection closes, and at once if this call fails.
        return sqlite3_set_clientdata(handle, Self.name, copy) { $0?.assumingMemoryBound(to: ValueProfile.self).deallocate() }
    }

    /// The profile of a statement's connection.
    static func of(_ statement: OpaquePointer) -> ValueProfile {
        guard let found = sqlite3_get_clientdata(sqlite3_db_handle(statement), name) else { return .standard }
        return found.assumingMemoryBound(to: ValueProfile.self).pointee
    }
}
