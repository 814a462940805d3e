import Hummingbird
import Logging
import NotesKit
import ServiceLifecycle
import Serving
import SQLCipherKit
import SQLCipherKitSync

/// Exchanges changes with the other copies every two seconds, while the server runs and this copy is not switched off from them.
actor CopyExchange: Service {
    /// The state of the exchange, for a page.
    struct State: ResponseCodable {
        var isOffline: Bool
        /// Missing while all goes well.
        var problem: String?
    }

    private let notebook: Notebook, store: ChangeStore, logger: Logger
    private var isOffline: Bool
    private var error: (any Error)?
    private var current: Task<Void, any Error>?

    init(_ notebook: Notebook, through folder: String, logger: Logger) async throws {
        (self.notebook, self.logger) = (notebook, logger)
        store = try notebook.changeStore(in: folder)
        isOffline = try await notebook.isOffline()
    }

    func run() async throws {
        async let _ = logger.logErrors { await self.error }
        try? await cancelWhenGracefulShutdown {
            while true {
                await self.exchange()
                try await Task.sleep(for: .seconds(2))
            }
        }
    }

    private func exchange() async {
        guard !isOffline else { return }
        let exchange = Task { [notebook, store] in _ = try await notebook.synchronize(with: store) }
        current = exchange
        if case .failure(let error) = await exchange.result { self.error = error } else { error = nil }
    }

    func setOffline(_ isOffline: Bool) async throws -> State {
        try await notebook.setOffline(isOffline)
        self.isOffline = isOffline
        _ = await current?.result
        return state
    }

    var state: State {
        guard !isOffline, let error else { return State(isOffline: isOffline) }
        let known = error as? DatabaseError
        let problem = if known?.reason == .storeUnavailable { "their folder cannot be used" }
            else if known?.code == .schema { "another copy has a newer version of this program" }
            else { "the exchange has failed, and the log says why" }
        return State(isOffline: false, problem: problem)
    }
}
