import CSQLCipher

/// The profiles of those columns of a result that have their own, in memory that does not move: a column that is lent to be read
/// points to it.
// Nothing changes it after its initialiser, so any thread may read it.
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
