extension DatabaseError {
    /// Which key opens a file after a change of its key met an error, found by reading the file again.
    public enum WorkingKey: Hashable, Sendable {
        /// The key from before the change: nothing has changed.
        case old
        /// The new key: the change took effect.
        case new
        /// The file could not be read again, so keep both keys: one of them opens it.
        case unknown
    }
}
