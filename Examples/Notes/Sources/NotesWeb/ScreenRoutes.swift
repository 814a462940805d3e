import Foundation
import Hummingbird
import NotesKit
import ServiceLifecycle
import SQLCipherKit
import SQLCipherKitReplication

/// A screen as the page gets it. Text is in parts, every second one marked: the page makes no HTML of it.
struct ScreenMessage: Codable, Equatable {
    struct Row: Codable, Equatable {
        var id: ID
        var folder: String?
        var title: [String]
        var excerpt: [String]
        var tags: [String]
        var pinned: Bool
    }

    var folders: [String]
    var deleted: Int
    var rows: [Row]

    init(_ screen: Notebook.Screen) {
        (folders, deleted) = (screen.folders, screen.deleted)
        rows = screen.rows.map { row in
            Row(
                id: row.note.id, folder: row.note.folder, title: Self.parts(row.title), excerpt: Self.parts(row.excerpt),
                tags: row.tags, pinned: row.note.pinned)
        }
    }

    /// Begins with a part that is not marked, which may be empty.
    private static func parts(_ text: HighlightedText) -> [String] {
        text.parts.reduce(into: []) { parts, part in
            if part.isHighlighted != (parts.count % 2 == 1) { parts.append("") }
            parts.append(String(part.text))
        }
    }
}

/// What the page shows, and where it is kept.
struct ScreenRoutes {
    let notebook: Notebook
    let replica: Replicator?

    var endpoints: RouteCollection<NotesContext> {
        RouteCollection(context: NotesContext.self).get("events", use: events).get("status", use: status)
    }

    /// Server-sent events: the screen for what has been typed, now and after each change. The page asks again when more is typed.
    @Sendable func events(_ request: Request, context: NotesContext) async throws -> Response {
        let query = request.uri.queryParameters
        guard let text = query.get("text"), text.count <= 1000 else {
            throw HTTPError(.badRequest, message: "text is what has been typed, of at most 1000 characters")
        }
        let screens = notebook.screens(text, in: query.get("folder"), showsDeleted: query.get("deleted") != nil)
        // A page that is slower than the changes gets the newest screen, as the observation itself works.
        let (events, sender) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream(bufferingPolicy: .bufferingNewest(1))
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init { writer in
                let observing = Task {
                    do {
                        for try await screen in screens {
                            let json = try JSONEncoder().encode(ScreenMessage(screen))
                            sender.yield(ByteBuffer(string: "data: \(String(decoding: json, as: UTF8.self))\n\n"))
                        }
                        sender.finish()
                    } catch { sender.finish(throwing: error) }
                }
                defer { observing.cancel() }
                try await withGracefulShutdownHandler {
                    try await request.body.consumeWithInboundCloseHandler { _ in
                        for try await event in events { try await writer.write(event) }
                    } onInboundClosed: {
                        sender.finish()
                    }
                } onGracefulShutdown: {
                    sender.finish()
                }
                try await writer.finish(nil)
            })
    }

    struct Status: ResponseEncodable {
        /// The size of the encrypted file in bytes.
        var bytes: UInt64
        /// Missing without a replica.
        var replica: Replica?
    }

    struct Replica: Encodable {
        /// For how long it has not had all changes. Missing before it has any.
        var secondsBehind: Double?
        /// Missing while all goes well.
        var problem: String?

        init(_ status: Replicator.Status) {
            secondsBehind = status.upToDateAt.map { max(0, -$0.timeIntervalSinceNow) }
            problem = status.isEnded ? "it has ended" : status.error.map { error in
                error.reason == .storeUnavailable ? "its folder cannot be used" : "it has failed"
            }
        }
    }

    private func replicaState() async -> Replica? {
        guard let replica else { return nil }
        return Replica(await replica.currentStatus)
    }

    @Sendable func status(_ request: Request, context: NotesContext) async throws -> Status {
        Status(bytes: try notebook.size(), replica: await replicaState())
    }
}
