import Hummingbird
import Logging
import ServiceLifecycle
import Serving
import SQLCipherKit
import SQLCipherKitReplication

/// Servers that search notes.
public enum SearchServer {
    public struct Settings: Sendable {
        /// The path of the database, or of the follower's copy.
        public var database: String
        public var key: DatabaseKey
        public var address = BindAddress.hostname("127.0.0.1", port: 8080)
        public var logger = Logger(label: "search-server")

        public init(database: String, key: DatabaseKey) { (self.database, self.key) = (database, key) }
    }

    /// The server that writes, and replicates its database into `store`.
    /// - Parameter source: where the database comes from if there is no file. Default: `store`.
    public static func primary(
        _ settings: Settings, store: any ObjectStore, from source: (any ObjectStore)? = nil
    ) async throws -> some ApplicationProtocol {
        let (path, key, logger) = (settings.database, settings.key, settings.logger)
        if let position = try await Replicator.restoreIfMissing(path, from: source ?? store, key: key) {
            logger.notice("Restored the state \(position).")
        }
        let database = try DatabasePool(.file(path), key: key)
        var options = Replicator.Options()
        // The next start goes on in the log. If you remove the database's file, remove the one with -wal too.
        options.persistsWAL = true
        let replica = try await Replicator(of: database, in: store, options: options)
        try await Notes.migrator.migrate(database)

        let router = Router()
        router.add(middleware: DatabaseErrors())
        router.addRoutes(ReadingRoutes(notes: Notes(database: database.reader)).endpoints)
        router.addRoutes(WritingRoutes(database: database, replica: replica).endpoints)
        router.addHealth { Health(await replica.currentStatus) }
        return application(router, settings, DatabaseService(replica: replica, logger: logger) { try await database.close() })
    }

    /// A server that only reads, from a copy that follows `store`.
    public static func follower(_ settings: Settings, of store: any ObjectStore) async throws -> some ApplicationProtocol {
        let follower = try await ReplicaFollower(at: settings.database, following: store, key: settings.key)

        let router = Router()
        router.add(middleware: DatabaseErrors())
        router.addRoutes(ReadingRoutes(notes: Notes(database: follower.reader)).endpoints)
        router.post("notes") { _, _ -> Response in
            throw HTTPError(.methodNotAllowed, message: "this server only reads: write to the one that it follows")
        }
        router.addHealth { Health(await follower.currentStatus) }
        return application(router, settings, FollowerService(follower: follower, logger: settings.logger))
    }

    private static func application(
        _ router: Router<BasicRequestContext>, _ settings: Settings, _ service: some Service
    ) -> some ApplicationProtocol {
        Application(
            router: router, server: .droppingSlowClients(), configuration: ApplicationConfiguration(address: settings.address),
            services: [service], logger: settings.logger)
    }
}
