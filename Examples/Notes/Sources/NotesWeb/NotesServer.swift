import Hummingbird
import Logging
import NotesKit
import ServiceLifecycle
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
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: settings.port)),
            services: [NotebookService(notebook: notebook, replica: replica, logger: settings.logger)], logger: settings.logger)
    }
}

/// Ends after the last request has been answered: stores what is left, and closes.
struct NotebookService: Service {
    let notebook: Notebook
    let replica: Replicator?
    let logger: Logger

    func run() async throws {
        if let replica {
            // Throws if another program has taken over the replica.
            do { try await cancelWhenGracefulShutdown { try await replica.waitUntilEnded() } } catch is CancellationError {}
            do { try await replica.waitUntilStored(timeout: .seconds(20)) } catch {
                logger.error("The last changes are in the notebook's file alone, until the next start: \(error)")
            }
            await replica.stop()
        } else {
            try? await gracefulShutdown()
        }
        try await notebook.close()
    }
}
