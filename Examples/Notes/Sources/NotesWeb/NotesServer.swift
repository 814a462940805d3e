import Hummingbird
import Logging
import NotesKit
import Serving
import SQLCipherKit
import SQLCipherKitReplication

/// A notebook in the browser: it searches while someone types, and shows each change at once.
public enum NotesServer {
    public struct Settings: Sendable {
        /// The path of the notebook.
        public var path: String
        public var key: DatabaseKey
        public var port = 8080
        /// The folder of the encrypted replica. Default: nil, which keeps none.
        public var replica: String?
        /// The folder through which copies exchange their changes. Default: nil.
        public var shared: String?
        var logger = Logger(label: "notes")

        public init(path: String, key: DatabaseKey) { (self.path, self.key) = (path, key) }
    }

    /// Serves until the process is told to end (SIGTERM, SIGINT).
    public static func run(_ settings: Settings) async throws { try await application(settings).runService() }

    /// Opens the notebook, from its replica if the file is missing. The server listens on this machine's own address alone.
    static func application(_ settings: Settings) async throws -> some ApplicationProtocol {
        let notebook: Notebook
        var replica: Replicator?
        if let folder = settings.replica {
            notebook = try await .restored(at: settings.path, key: settings.key, from: folder)
            replica = try await notebook.replicate(to: folder)
        } else {
            notebook = try await Notebook(at: settings.path, key: settings.key)
        }
        let router = Router(context: NotesContext.self)
        router.add(middleware: OwnPageOnly())
        router.add(middleware: DatabaseErrors())
        router.addPage()
        router.addRoutes(NoteRoutes(notebook: notebook, shared: settings.shared).endpoints)
        router.addRoutes(ScreenRoutes(notebook: notebook, replica: replica).endpoints)
        return Application(
            router: router, server: .droppingSlowClients(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: settings.port)),
            services: [
                DatabaseService(replica: replica, logger: settings.logger) { [notebook] in try await notebook.close() }
            ], logger: settings.logger)
    }
}
