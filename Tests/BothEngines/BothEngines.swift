import Foundation
import SQLCipherKit

/// A program with both products in it: SQLCipherKit, and SQLCipher under its plain names. BothEnginesTests runs it.
@main struct BothEngines {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let command = arguments.first else { throw Misuse() }
        switch (command, Array(arguments.dropFirst())) {
        case ("options", []): options()
        case ("facts", []): try facts()
        case ("answers", let rest) where rest.count == 1: try answers(rest[0])
        case ("turns", let rest) where rest.count == 1: try turns(rest[0])
        case ("threads", let rest) where rest.count == 1: try threads(rest[0])
        case ("fill-plain", let rest) where rest.count == 2: try fillPlain(rest[0], Int(rest[1]) ?? 0)
        case ("fill-kit", let rest) where rest.count == 2: try fillKit(rest[0], Int(rest[1]) ?? 0)
        default: throw Misuse()
        }
    }

    struct Misuse: Error {}

    static let passphrase = "correct horse"

    /// The two write the same file, one after the other.
    static func turns(_ path: String) throws {
        do {
            let plain = try Plain(path, key: passphrase)
            try plain.run("CREATE TABLE note(body); INSERT INTO note VALUES ('plain')")
            try plain.run("CREATE VIRTUAL TABLE word USING fts5(body); INSERT INTO word VALUES ('first we bake')")
        }
        do {
            let db = try Connection(.file(path), key: .passphrase(passphrase))
            let found = try db.fetchAll(Int.self, "SELECT rowid FROM word('bake')")
            print(try db.fetchAll(String.self, "SELECT body FROM note"), found)
            try db.execute("INSERT INTO note VALUES ('kit')")
            try db.changeKey(to: .passphrase("battery staple"))
        }
        let plain = try Plain(path, key: "battery staple")
        print(try plain.run("SELECT group_concat(body) FROM note"))
        let wrong = Result { try Plain(path, key: passphrase).run("SELECT count(*) FROM note") }
        print("wrong key:", wrong)
    }

    /// `count` transactions of a row each, while another process writes as well.
    static func fillPlain(_ path: String, _ count: Int) throws {
        let plain = try Plain(path, key: passphrase)
        for value in 1...count { try plain.run("BEGIN IMMEDIATE; INSERT INTO tally VALUES ('plain', \(value)); COMMIT") }
    }

    static func fillKit(_ path: String, _ count: Int) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(60)
        let db = try Connection(.file(path), key: .passphrase(passphrase), configuration: configuration)
        for value in 1...count { try db.transaction { try $0.execute("INSERT INTO tally VALUES ('kit', \(value))") } }
    }
}
