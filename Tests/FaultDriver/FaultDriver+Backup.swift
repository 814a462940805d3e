import Foundation
import SQLCipherKit

/// Backups and restores, in steps so small that a test can kill the process between two of them.
extension FaultDriver {
    static func runBackup(_ action: String, _ path: String, _ arguments: [String]) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(5)
        let db = try Connection(.file(path), key: .passphrase(arguments[0], cipher: quick), configuration: configuration)
        var options = Schema.BackupOptions()
        options.pagesPerStep = 20
        options.replacesFile = true
        let encryption = try DatabaseKey.passphrase(arguments[2], cipher: quick)
        ready()
        if action == "backup-write" {
            try db.main.backup(toFileAt: arguments[1], key: encryption, options: options)
        } else {
            // With a small cache, pages are written early, so that the file is half rewritten when the process dies.
            try db.execute("PRAGMA cache_size = 10")
            try db.main.restore(fromFileAt: arguments[1], key: encryption, options: options)
        }
    }
}
