extension DatabaseError {
    /// Which key opens a file, found out by reading it again after a change of its key met an error.
    public enum WorkingKey: Hashable, Sendable {
        /// The key from before the change: nothing has changed.
        case old
        /// The new key: the change took effect.
        case new
        /// The file could not be read again, so keep both keys: it is one of the two.
        case unknown
    }
}
