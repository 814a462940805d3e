import Foundation
import HummingbirdTesting
import Testing
@testable import SearchServerKit

/// The program itself, on real ports.
@Suite struct ProcessTests {
    let folder: TestFolder
    let keyFile: String

    init() throws {
        folder = try TestFolder()
        keyFile = folder.path + "/key"
        try Data(TestFolder.passphrase.utf8).write(to: URL(fileURLWithPath: keyFile))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyFile)
    }

    private func start(_ command: String, _ database: String, _ arguments: [String]) async throws -> ServerProcess {
        try await ServerProcess(
            [command, "--database", "\(folder.path)/\(database)", "--port", "0", "--key-file", keyFile] + arguments,
            log: "\(folder.path)/\(database).log")
    }

    @Test func `a killed server is restored on another port, and followed`() async throws {
        let store = folder.path + "/store"
        let first = try await start("serve", "first.db", ["--store", store])
        try await first.client { client in
            for number in 1...20 { try await client.add("Note \(number)", "Written before the crash.", isStored: number == 20) }
        }
        first.kill()
        let second = try await start("serve", "second.db", ["--store", folder.path + "/other", "--from", store])
        try await second.client { client in
            #expect(try await client.titles("crash").count == 20)
            try await client.add("After", "Written on the second machine.", isStored: true)
        }
        let follower = try await start("follow", "copy.db", [folder.path + "/other"])
        #expect(second.port != follower.port)
        try await follower.client { client in
            #expect(try await client.titles("after") == ["<mark>After</mark>"])
            try await second.client { second in try await second.add("Later", "While it is followed.") }
            try await eventually { try await client.titles("later") == ["<mark>Later</mark>"] }
        }
        #expect(try await second.terminate() == 0)
        #expect(try await follower.terminate() == 0)
        for process in [first, second, follower] { #expect(!process.output.contains(TestFolder.passphrase)) }
    }

    @Test func `what was answered before a graceful end is in the store`() async throws {
        let first = try await start("serve", "first.db", ["--store", folder.path + "/store"])
        try await first.client { client in
            for number in 1...50 { try await client.add("Note \(number)", "Quickly.") }
        }
        #expect(try await first.terminate() == 0)
        let second = try await start("serve", "second.db", ["--store", folder.path + "/store"])
        #expect(second.output.contains("Restored the state"))
        try await second.client { client in
            let count = try await client.titles("quickly").count
            #expect(count == 50)
        }
        #expect(try await second.terminate() == 0)
    }

    @Test func `a server ends when another one has taken over its store`() async throws {
        let first = try await start("serve", "first.db", ["--store", folder.path + "/store"])
        try await first.client { client in try await client.add("Foxes", "", isStored: true) }
        let second = try await start("serve", "second.db", ["--store", folder.path + "/store"])
        try await second.client { client in
            try await client.add("Hedgehogs", "", isStored: true)
            // The first learns it when it stores something.
            try await first.client { first in
                // If it ends before it answers, the connection is closed.
                let answer = try? await first.status("/notes?stored=true", .post, #"{"title":"Moles","body":""}"#)
                #expect(answer == nil || answer?.0 == 503)
            }
            #expect(try await first.end() != 0)
            #expect(first.output.contains("another"), "\(first.output)")
            #expect(try await client.titles("moles").isEmpty)
        }
        #expect(try await second.terminate() == 0)
    }

    @Test(arguments: [
        (["serve", "--store", "STORE"], "there is no key"), (["serve"], "--store"), (["follow"], "<store>"),
        (["follow", "STORE", "--key-file", "KEY"], "no head"), (["serve", "--store", "s3://", "--key-file", "KEY"], "bucket"),
        (["serve", "--store", "STORE", "--key-file", "KEY", "--database", "FOLDER/missing/a.db"], "a.db"),
    ]) func `wrong arguments are explained`(arguments: [String], message: String) async throws {
        let arguments = arguments.map { argument in
            argument.replacing("STORE", with: folder.path + "/store").replacing("KEY", with: keyFile)
                .replacing("FOLDER", with: folder.path)
        }
        let database = arguments.contains("--database") ? [] : ["--database", "\(folder.path)/a.db"]
        let process = try ServerProcess(unready: arguments + database, log: folder.path + "/log")
        #expect(try await process.end() != 0)
        #expect(process.output.contains(message), "\(process.output)")
        #expect(!process.output.contains(TestFolder.passphrase))
    }
}
