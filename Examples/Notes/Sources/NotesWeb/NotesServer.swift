import Hummingbird
import Logging
import NotesKit
import ServiceLifecycle
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
        /// The name of this copy, and the address of another one that a person may want to see beside it. Default: nil.
        public var device, beside: String?
        var logger = Logger(label: "notes")

        public init(path: String, key: DatabaseKey) { (self.path, self.key) = (path, key) }
    }

    /// Serves until the process is told to end (SIGTERM, SIGINT).
    public static func run(_ settings: Settings) async throws { try await application(settings).runService() }

    /// Opens the notebook, from its replica if the file is missing. The server listens on this machine's own address alone.
    static func application(_ settings: Settings) async throws -> some ApplicationProtocol {
        var notebook: Notebook, replica: Replicator?
        if let folder = settings.replica {
            notebook = try await .restored(at: settings.path, key: settings.key, from: folder)
            replica = try await notebook.replicate(to: folder)
        } else {
            notebook = try await Notebook(at: settings.path, key: settings.key)
        }
        notebook.device = settings.device
        let database = DatabaseService(replica: replica, logger: settings.logger) { [notebook] in try await notebook.close() }
        var services: [any Service] = [database], exchange: CopyExchange?
        if let folder = settings.shared {
            let copies = try await CopyExchange(notebook, through: folder, logger: settings.logger)
            exchange = copies
            services.append(copies)
        }
        let router = Router(context: NotesContext.self)
        router.add(middleware: OwnPageOnly())
        router.add(middleware: DatabaseErrors())
        router.addPage()
        router.addRoutes(NoteRoutes(notebook: notebook, exchange: exchange).endpoints)
        let copies = ScreenRoutes.Copies(replica: replica, exchange: exchange, beside: settings.beside)
        router.addRoutes(ScreenRoutes(notebook, copies).endpoints)
        return Application(
            router: router, server: .droppingSlowClients(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: settings.port)),
            services: services, logger: settings.logger)
    }
}
