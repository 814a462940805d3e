import Foundation
import NIOCore
import NIOPosix
@testable import NotesWeb

/// Reads server-sent events as a browser does.
struct EventReader {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private var text = ""

    private var version: UInt32?

    /// The next event after a change; the first comes at once.
    @discardableResult
    mutating func next() async throws -> Event {
        while true {
            let event = try await read()
            defer { version = event.version }
            if event.version != version { return event }
        }
    }

    private mutating func read() async throws -> Event {
        while true {
            if let event = text.firstMatch(of: #/data: (.+)\n\n/#) {
                defer { text.removeSubrange(..<event.range.upperBound) }
                return try JSONDecoder().decode(Event.self, from: Data(event.1.utf8))
            }
            guard !text.hasPrefix("HTTP/1.1 4"), let buffer = try await inbound.next() else { throw Ended(text: text) }
            text += String(buffer: buffer)
        }
    }

    /// The connection was closed, or the request refused.
    struct Ended: Error { let text: String }

    private init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) { self.inbound = inbound }

    /// Asks for the events, and closes the connection at the end.
    static func read<R: Sendable>(
        port: Int, host: String = "localhost", _ body: @Sendable (inout EventReader) async throws -> R
    ) async throws -> R {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: "GET /events HTTP/1.1\r\nHost: \(host)\r\n\r\n"))
            var reader = EventReader(inbound.makeAsyncIterator())
            return try await body(&reader)
        }
    }
}

extension ScreenMessage {
    /// The rows with what is marked in brackets.
    var shown: [String] {
        rows.map { row in
            row.title.enumerated().map { $0.offset % 2 == 1 ? "[\($0.element)]" : $0.element }.joined()
        }
    }
}
