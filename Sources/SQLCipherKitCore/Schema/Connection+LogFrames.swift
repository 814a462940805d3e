import CSQLCipher

extension Connection {
    /// Counts the frames of the logs at each commit, which replaces SQLite's automatic checkpoints.
    package func countLogFrames() throws {
        let (hooks, handle) = try usableHooks()
        sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                if let hooks = ConnectionHooks.at(context) { hooks.logFrames = max(hooks.logFrames, Int(frames)) }
                return SQLITE_OK
            }, hooks.pointer)
    }

    /// Returns the number of frames in the longest log after the commits since the last call.
    package func takeLogFrames() -> Int {
        defer { hooks?.logFrames = 0 }
        return hooks?.logFrames ?? 0
    }
}
