import HummingbirdCore
import NIOCore

extension HTTPServerBuilder {
    /// HTTP/1.1 for clients that keep up: a connection is closed if a request stays incomplete, if none comes, or if what is sent
    /// is not taken, for `limit`. A stream of events stays open for as long as its client reads.
    public static func droppingSlowClients(after limit: TimeAmount = .seconds(15)) -> HTTPServerBuilder {
        .http1(configuration: .init(additionalChannelHandlers: [StalledWrites(limit)], idleTimeout: limit))
    }
}

/// Closes a connection whose client has not taken what waits for it. Its methods run on the connection's event loop.
private final class StalledWrites: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let limit: TimeAmount
    private var close: Scheduled<Void>?

    init(_ limit: TimeAmount) { self.limit = limit }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        close?.cancel()
        close = context.channel.isWritable ? nil : context.eventLoop.scheduleTask(in: limit) { [channel = context.channel] in
            channel.close(promise: nil)
        }
        context.fireChannelWritabilityChanged()
    }

    func handlerRemoved(context: ChannelHandlerContext) { close?.cancel() }
}
