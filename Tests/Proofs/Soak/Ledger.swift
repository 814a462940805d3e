import Synchronization

/// The writers' knowledge of rows: rows whose call has returned, and rows whose outcome is uncertain. A writer keeps its latest
/// rows only.
final class Ledger: Sendable {
    static let window = 100

    struct Entry {
        var number = 0
        var returned: Set<Int> = []
        var uncertain: Set<Int> = []
    }

    private let entries = Mutex<[Int: Entry]>([:])

    /// The number of a writer's next row, uncertain from now on.
    func next(of writer: Int) -> Int {
        entries.withLock { entries in
            var entry = entries[writer] ?? Entry()
            entry.number += 1
            let number = entry.number
            entry.uncertain.insert(number)
            // Rows older than twice the window have been deleted by rows that are there.
            entry.uncertain = entry.uncertain.filter { $0 > number - 2 * Self.window }
            entry.returned = entry.returned.filter { $0 > number - 2 * Self.window }
            entries[writer] = entry
            return number
        }
    }

    func returned(_ number: Int, of writer: Int) {
        entries.withLock { entries in
            entries[writer]?.uncertain.remove(number)
            entries[writer]?.returned.insert(number)
        }
    }

    /// The closure itself has thrown, so the rollback is certain.
    func undone(_ number: Int, of writer: Int) { entries.withLock { _ = $0[writer]?.uncertain.remove(number) } }

    func entry(of writer: Int) -> Entry { entries.withLock { $0[writer] ?? Entry() } }
}
