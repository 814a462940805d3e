import ArgumentParser
import SearchServerKit
import SQLCipherKit
import SQLCipherKitReplication

@main struct SearchServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search-server",
        abstract: "Search notes in an encrypted database over HTTP, with an encrypted replica elsewhere.",
        discussion: """
            A store is a folder, or s3://BUCKET/PREFIX with credentials, AWS_REGION and AWS_ENDPOINT_URL in the environment. The \
            passphrase is in the file that --key-file names, in a systemd credential called search-server, or in the environment \
            variable SEARCH_SERVER_KEY.
            """,
        subcommands: [Serve.self, Follow.self])
}

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve a database, and replicate it.",
        discussion: "If the file of the database is missing, it is restored from the store, or created.")

    @OptionGroup var options: Options

    @Option(help: "Where the replica is kept.")
    var store: String

    @Option(help: "Where a missing database is restored from. (default: --store)")
    var from: String?

    func run() async throws {
        let server = try await SearchServer.primary(
            options.settings, store: openStore(store), from: from.map { try openStore($0) })
        try await server.runService()
    }
}

struct Follow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve reads from a copy that follows a replica.")

    @OptionGroup var options: Options

    @Argument(help: "Where the replica is kept.")
    var store: String

    func run() async throws {
        try await SearchServer.follower(options.settings, of: openStore(store)).runService()
    }
}

func openStore(_ name: String) throws -> any ObjectStore {
    name.hasPrefix("s3://") ? try S3Store(name) : try FolderStore(name)
}
