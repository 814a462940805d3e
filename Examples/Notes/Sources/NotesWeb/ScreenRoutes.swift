import Foundation
import Hummingbird
import NotesKit
import ServiceLifecycle
import SQLCipherKit
import SQLCipherKitReplication
import Synchronization

/// A screen as the page gets it. Text is in parts, every second one marked: the page makes no HTML of it.
struct ScreenMessage: ResponseCodable {
    struct Row: Codable, Equatable {
        var id: ID
        var folder: String?
        var title: [String]
        var excerpt: [String]
        var tags: [String]
        var pinned, isDisputed: Bool
    }

    var rows: [Row]
    var total, all, deleted, conflicts: Int
    var isExact: Bool
    var folders, tags: [Notebook.Screen.Group]
    var correction: String?
    /// The time that the notebook took, in milliseconds.
    var milliseconds: Double

    init(_ screen: Notebook.Screen, in time: Duration) {
        rows = screen.rows.map { row in
            Row(
                id: row.note.id, folder: row.note.folder, title: row.title.sentParts,
                excerpt: row.excerpt.sentPartsWithoutMarkdown, tags: row.tags, pinned: row.note.pinned,
                isDisputed: row.isDisputed)
        }
        (total, isExact) = (screen.total, screen.isExact)
        (all, deleted, conflicts) = (screen.all, screen.deleted, screen.conflicts)
        (folders, tags, correction) = (screen.folders, screen.tags, screen.correction)
        milliseconds = time / .milliseconds(1)
    }
}

extension HighlightedText {
    /// Begins with a part that is not marked, which may be empty.
    fileprivate var sentParts: [String] {
        parts.reduce(into: []) { parts, part in
            if part.isHighlighted != (parts.count % 2 == 1) { parts.append("") }
            parts.append(String(part.text))
        }
    }

    /// The same without the signs of Markdown for code, headings, emphasis and links, in one line.
    fileprivate var sentPartsWithoutMarkdown: [String] {
        let signs = #/\]\([^)\s]*(?:\)|$)|`+|\*\*|(?:^|\n)(?:#+|[-*>|]) |<doc:|!?\[(?=[^\]]*(?:$|\]\())|\n/#
        // A sign may have marked parts in it: between the parts is a control character, which stays.
        let border = "\u{1}", text = sentParts.map { $0.replacing(border, with: "") }.joined(separator: border)
        let plain = text.replacing(signs) { ($0.output.contains("\n") ? " " : "") + String($0.output.filter { "\($0)" == border }) }
        return plain.components(separatedBy: border)
    }
}

/// Answers what pages show, and tells them of changes.
struct ScreenRoutes {
    /// Other copies of the notebook, as far as there are any.
    struct Copies {
        var replica: Replicator?
        var exchange: CopyExchange?
        var beside: String?
    }

    let notebook: Notebook
    let copies: Copies
    let changes: DatabaseObservation<Void>

    init(_ notebook: Notebook, _ copies: Copies) { (self.notebook, self.copies, changes) = (notebook, copies, notebook.changes()) }

    var endpoints: RouteCollection<NotesContext> {
        RouteCollection(context: NotesContext.self).get("screen", use: screen).get("events", use: events)
    }

    /// The screen for what has been typed. The page asks again when more is typed, and after each change.
    @Sendable func screen(_ request: Request, context: NotesContext) async throws -> ScreenMessage {
        let query = request.uri.queryParameters
        guard let text = query.get("text"), text.count <= 1000 else {
            throw HTTPError(.badRequest, message: "text is what has been typed, of at most 1000 characters")
        }
        var question = Notebook.Question(text, in: query.get("folder"), tagged: query.get("tag"))
        guard let part = query.get("part").map(Notebook.Question.Part.init(rawValue:)) ?? .kept else {
            throw HTTPError(.badRequest, message: "part is kept, deleted or conflicts")
        }
        question.part = part
        guard let limit = query.get("limit").map({ Int($0) }) ?? question.limit, 1...10_000 ~= limit else {
            throw HTTPError(.badRequest, message: "limit is a number from 1 to 10000")
        }
        question.limit = limit
        let start = ContinuousClock.now
        let screen = try await notebook.screen(question)
        return ScreenMessage(screen, in: .now - start)
    }

    /// Server-sent events for all pages of a browser together: at once, after each change, and every two seconds.
    @Sendable func events(_ request: Request, context: NotesContext) async throws -> Response {
        // A client that is slower than the changes gets the newest event, in which the version has changed.
        let (events, sender) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let version = Version()
        @Sendable func send() async throws {
            let replica = await copies.replica?.currentStatus, exchange = await copies.exchange?.state
            let event = Event(
                version: version.number.withLock { $0 }, bytes: notebook.size, device: notebook.device, beside: copies.beside,
                replica: replica.map(ReplicaState.init), exchange: exchange)
            sender.yield(ByteBuffer(string: "data: \(String(decoding: try JSONEncoder().encode(event), as: UTF8.self))\n\n"))
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init { writer in
                let observing = Task {
                    do {
                        for try await _ in changes {
                            version.number.withLock { $0 &+= 1 }
                            try await send()
                        }
                        sender.finish()
                    } catch { sender.finish(throwing: error) }
                }
                let telling = Task {
                    while true {
                        try await Task.sleep(for: .seconds(2))
                        try await send()
                    }
                }
                defer {
                    observing.cancel()
                    telling.cancel()
                }
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

    /// Counts the changes of one stream.
    private final class Version: Sendable {
        let number = Mutex(UInt32.random(in: .min ... .max))
    }
}

/// The message to each page.
struct Event: Codable {
    /// Changes with each change, and for each stream: then the page asks for its screen.
    var version: UInt32
    /// The size of the encrypted file and its log in bytes.
    var bytes: UInt64
    /// The name of this copy, and the address of another one to open beside it.
    var device, beside: String?
    /// Missing without a replica.
    var replica: ReplicaState?
    /// Missing without a folder for it.
    var exchange: CopyExchange.State?
}

struct ReplicaState: Codable {
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
