import Foundation
import Testing

/// Accepts connections on the loopback, each in a thread of its own.
final class LoopbackServer: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter serve: called for each connection, which is closed afterwards.
    init(_ serve: @escaping @Sendable (LoopbackConnection) -> Void) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(0), size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread {
                    serve(LoopbackConnection(descriptor: client))
                    close(client)
                }
            }
        }
    }

    func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

private func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
}

/// A connection whose other end is on this machine.
struct LoopbackConnection: Sendable {
    let descriptor: Int32

    /// - Returns: nil if nothing listens there.
    static func to(_ port: UInt16) -> LoopbackConnection? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(port)
        let isOpen = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isOpen { return LoopbackConnection(descriptor: descriptor) }
        close(descriptor)
        return nil
    }

    /// - Returns: whether the other end has taken all of it.
    func send(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// - Returns: empty at the end.
    func receive() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : []
    }

    /// Reads a request whose body, if there is one, has a length.
    /// - Returns: nil at the end.
    func readRequest() -> LoopbackRequest? {
        var bytes: [UInt8] = []
        while true {
            if let head = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
                var request = LoopbackRequest(String(decoding: bytes[..<head.lowerBound], as: UTF8.self))
                request.body = Array(bytes[head.upperBound...])
                let length = request.header("content-length").flatMap { Int($0) } ?? 0
                while request.body.count < length {
                    let more = receive()
                    if more.isEmpty { return nil }
                    request.body += more
                }
                return request
            }
            let more = receive()
            if more.isEmpty { return nil }
            bytes += more
        }
    }
}

struct LoopbackRequest: Sendable {
    var lines: [String]
    var body: [UInt8] = []

    init(_ head: String) { lines = head.components(separatedBy: "\r\n") }

    /// `GET`, and the path with the query.
    var method: String { String(lines[0].prefix { $0 != " " }) }
    var target: String { lines[0].split(separator: " ").dropFirst().first.map(String.init) ?? "" }

    func header(_ name: String) -> String? {
        lines.first { $0.lowercased().hasPrefix(name + ":") }.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    mutating func remove(_ name: String) { lines.removeAll { $0.lowercased().hasPrefix(name + ":") } }

    var bytes: [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body }
}
