import ArgumentParser
import SearchServerKit
import SQLCipherKit

struct Options: ParsableArguments {
    @Option(help: "The path of the database, or of the copy.")
    var database = "notes.db"

    @Option(help: "The address to listen at.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any that is free.")
    var port = 8080

    @Option(help: "A file with the passphrase that only its owner may read.")
    var keyFile: String?

    var settings: SearchServer.Settings {
        get throws {
            let source: KeySource = if let keyFile { .file(keyFile) } else {
                .first([.systemdCredential("search-server"), .environment("SEARCH_SERVER_KEY")])
            }
            guard let key = try source.key() else { throw ValidationError("there is no key: \(source) has none") }
            var settings = SearchServer.Settings(database: database, key: key)
            settings.address = .hostname(host, port: port)
            return settings
        }
    }
}
