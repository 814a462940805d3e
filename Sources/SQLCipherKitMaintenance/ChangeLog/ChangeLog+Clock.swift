import SQLCipherKitCore

/// A log's times come from the clocks of its peers, each later than all that its peer has seen. One clock that is far ahead would
/// lead all others there, and its changes would win for years.
extension ChangeLog {
    /// The latest time that is accepted now.
    var clockLimit: Int64 { ChangeStamp.tick(after: 0, now: now().addingTimeInterval(clockTolerance / .seconds(1))) }

    /// - Parameter what: what has the time.
    func checkTime(_ clock: Int64, _ what: @autoclosure () -> String) throws(DatabaseError) {
        guard clock > clockLimit else { return }
        let hours = ((clock - ChangeStamp.tick(after: 0, now: now())) >> 16) / 3_600_000
        throw DatabaseError(
            code: .abort,
            message: """
                \(what()) is \(hours) hours ahead of this device's clock: one of the two clocks is wrong. Once they agree, \
                repairClock() mends the log of the device whose clock was wrong
                """)
    }
}
