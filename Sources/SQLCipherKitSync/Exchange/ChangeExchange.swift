import Foundation
import SQLCipherKitCore

/// A synchronization: reads the changes that others have stored, and stores the changes that they lack.
///
/// The remembered state only saves work: a chain that does not continue as expected is read again from its beginning, and entries
/// that were received before do no harm. So a store that has returned to an older state, a killed process and a restored database
/// need no special code.
struct ChangeExchange {
    fileprivate let log: SharedChangeLog, store: ChangeStore, opened: ChangeStore.Opened
    /// The name of this copy's chain. Two copies with one name share it, and no two of them can store the same number.
    fileprivate let own: [UInt8]
    fileprivate private(set) var chains: [[UInt8]: ChangeChain] = [:]
    /// The numbers of the stored objects by chain, in order, with their sizes.
    fileprivate private(set) var listed: [[UInt8]: [(number: Int64, size: Int)]] = [:]
    private var outcome = ChangeStore.Outcome()
    /// The first error of a chain. It does not keep the others from being read.
    private var error: (any Error)?
    private var failed: Set<[UInt8]> = []
    /// The error of the chain of this copy.
    fileprivate private(set) var ownError: (any Error)?
    /// True if this copy cannot yet take the objects that another copy with its name has stored. Then it must not store anything
    /// itself.
    fileprivate private(set) var isBehind = false
    /// True if a message or an object cannot be received, because its predecessor is missing or unreadable.
    fileprivate private(set) var isLacking = false
    /// True if missing objects count as lost, not as removed after the list was read.
    private var isLastAttempt = false
    /// The chains that were read again from their beginning. A chain is read again only once, because a chain that was mixed from
    /// two chains would never end. A chain that waits for other chains is read again after them.
    private var restarted: Set<[UInt8]> = []

    private static let largestChainCount = 4096, attempts = 8

    private init(_ log: SharedChangeLog, _ store: ChangeStore) async throws {
        (self.log, self.store) = (log, store)
        opened = try await store.open()
        own = try opened.key.name(of: Array(log.localPeer.utf8))
        let id = opened.id
        chains = try await log.withLog { try $0.chains(in: id) }
    }

    // MARK: Names

    private func prefix(_ chain: [UInt8]) -> String { ChangeStore.prefix + chain.hexadecimal + "/" }
    private func name(_ number: Int64, _ chain: [UInt8]) -> String { prefix(chain) + "\(number)" }
    private func context(_ chain: [UInt8]) -> [UInt8] { opened.id + chain }

    private mutating func list() async throws {
        listed = [:]
        for object in try await store.store.list(prefix: ChangeStore.prefix) {
            let parts = object.name.dropFirst(ChangeStore.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let chain = [UInt8](hexadecimal: parts[0]), chain.count == ReplicaKey.nameCount,
                let number = Int64(parts[1]), (0..<ChangeLink.largestNumber).contains(number),
                name(number, chain).isSameText(as: object.name)
            else { continue }
            listed[chain, default: []].append((number, object.size))
        }
        guard listed.count <= Self.largestChainCount else {
            throw DatabaseError.damagedChanges("there are more than \(Self.largestChainCount) copies")
        }
        for chain in listed.keys { listed[chain]?.sort { $0.number < $1.number } }
        // Objects of this copy are missing: the store has returned to an older state, and other read objects may be missing too.
        if let chain = chains[own], chain.next > (listed[own]?.last?.number ?? -1) + 1 { chains = [:] }
    }

    // MARK: Receiving

    /// Takes the new entries of all chains, each entry after the entries that it depends on.
    private mutating func receive() async throws {
        for attempt in 1...3 {
            (failed, error, ownError, isLastAttempt, restarted) = ([], nil, nil, attempt == 3, [])
            outcome.isComplete = true
            try await list()
            var isMoved = false, isMissing = false
            repeat {
                isMoved = false
                (outcome.isComplete, isBehind, isLacking) = (true, false, false)
                // The objects of another copy with this name come first: they decide which changes this copy logs again.
                let order = listed.keys.sorted { $1 != own && ($0 == own || $0.lexicographicallyPrecedes($1)) }
                for chain in order where !failed.contains(chain) {
                    do {
                        while try await advance(chain) { isMoved = true }
                    } catch is Gone where !isLastAttempt {
                        isMissing = true
                    } catch let error as DatabaseError where error.isOfStore || error.reason == .copyRestored {
                        throw error
                    } catch {
                        if error is CancellationError { throw error }
                        failed.insert(chain)
                        let error = error is Gone ? DatabaseError.damagedChanges("an object is missing") : error
                        self.error = self.error ?? error
                        if chain == own { ownError = error }
                    }
                }
            } while isMoved
            // Objects that others have removed since the list was read have new objects in their place.
            if !isMissing, !isLacking || attempt > 1 { break }
        }
        outcome.isComplete = outcome.isComplete && error == nil
        if let error { isLacking = (error as? DatabaseError)?.reason == .replicaDamaged }
    }

    private struct Gone: Error {}

    private func object(_ number: Int64, _ chain: [UInt8]) async throws -> [UInt8] {
        try Task.checkCancellation()
        let size = listed[chain]?.first { $0.number == number }?.size ?? 0, most = store.partSize + ChangeLink.overhead
        guard size <= most else { throw DatabaseError.damagedChanges("the object \(name(number, chain)) is too large") }
        guard let object = try await store.store.get(name(number, chain)) else { throw Gone() }
        guard object.bytes.count <= most else {
            throw DatabaseError.damagedChanges("the object \(name(number, chain)) is too large")
        }
        return object.bytes
    }

    /// Takes the next message of a chain.
    /// - Returns: whether there may be more.
    private mutating func advance(_ chain: [UInt8]) async throws -> Bool {
        guard let numbers = listed[chain], let first = numbers.first?.number, let last = numbers.last?.number else { return false }
        var place = chains[chain] ?? ChangeChain(next: first)
        if place.next == last + 1, place.lastSize == numbers.last?.size { return false }
        // The store has returned to an older state, or a message with all rows replaced the next object.
        if place.next > last || place.next < first { place = ChangeChain(next: first) }
        var isBlocked = false
        while let bytes = try await message(chain, &place) {
            let message = try ChangeLog.Message(data: Data(bytes))
            guard try opened.key.name(of: Array(message.sender.utf8)) == chain else {
                throw DatabaseError.damagedChanges("a message of the peer \(message.sender) is in the chain of another peer")
            }
            if isBlocked, !message.isSnapshot {
                // A copy that asks for all rows may be waiting for this copy.
                if message.asks != nil {
                    var known = chains[chain] ?? ChangeChain(next: first)
                    (known.asks, known.askedAt) = (message.asks, place.next)
                    chains[chain] = known
                }
                continue
            }
            do {
                try await take(message, chain, place)
                return true
            } catch let error as DatabaseError where error.reason == .changesMissing {
                // Another chain has the missing entries, now or later; or a message with all rows follows.
                let name = log.localPeer, last = try await log.withLog { try $0.position.sequence(of: name) }
                if chain == own || message.since.sequence(of: name) > last { isBehind = true }
                (isBlocked, isLacking) = (true, true)
            }
        }
        if isBlocked { restarted.remove(chain) }
        outcome.isComplete = false
        return false
    }

    private mutating func take(_ message: ChangeLog.Message, _ chain: [UInt8], _ place: ChangeChain) async throws {
        let id = opened.id, own = own, known = chains[own]
        let result = try await log.withLog { log in
            let isTrusted = try message.isSnapshot && chain != own && (message.isMend || !log.position.includes(message.until))
            let outcome = try log.receive(message, isStored: true)
            var next = place, mine = known
            next.note(message)
            try log.setChain(next, chain, in: id)
            // Rows that were taken on trust are compared with others soon.
            if isTrusted, mine != nil {
                mine?.checked = nil
                if let mine { try log.setChain(mine, own, in: id) }
            }
            return (outcome, next, mine)
        }
        outcome.received.add(result.0)
        if let mine = result.2 { chains[own] = mine }
        chains[chain] = result.1
    }

    /// Reads the next message of a chain.
    /// - Parameter place: the place in the chain; it moves after the message.
    /// - Returns: nil if its last part is not there yet.
    private mutating func message(_ chain: [UInt8], _ place: inout ChangeChain) async throws -> [UInt8]? {
        let numbers = (listed[chain] ?? []).map(\.number), first = numbers.first ?? 0
        var next = place.next, tag = place.tag, bytes: [UInt8] = [], expected = 0, count = 0, isWhole = false, start = next
        // A message with all rows begins the chain again: earlier objects are being removed, and need not be readable.
        var isSearching = tag == nil && next > 0, failure: (any Error)?
        for number in numbers where number >= place.next {
            do {
                let object = try await object(number, chain)
                let link = try ChangeLink(object, number: number, opened.key, context(chain))
                let begins = link.isWhole && link.part == 0
                if isSearching, !begins { continue }
                if !begins, number != next { throw Gone() }
                if !begins, let tag, link.predecessor != tag {
                    // The chain is not the chain that was read: it was restored from a copy, or another copy has continued it.
                    if number == place.next, place.tag != nil, number > first, restarted.insert(chain).inserted {
                        place = ChangeChain(next: first)
                        return try await message(chain, &place)
                    }
                    throw DatabaseError.damagedChanges("the object \(name(number, chain)) does not continue its chain")
                }
                isSearching = false
                // Another message follows an incomplete message.
                if link.part == 0 { (bytes, expected, count, isWhole, start) = ([], 0, link.partCount, link.isWhole, number) }
                guard link.part == expected, link.partCount == count else {
                    throw DatabaseError.damagedChanges("the object \(name(number, chain)) is out of place")
                }
                bytes += link.bytes
                guard bytes.count <= 4 * StoredObject.largestSize else {
                    throw DatabaseError.damagedChanges("a message is too large")
                }
                (next, expected, tag) = (number + 1, expected + 1, ChangeLink.tag(of: object))
                if expected < count { continue }
                place.lastSize = object.count
                place.append(bytes.count, from: start, next: next, tag: tag ?? [], isWhole: isWhole)
                return bytes
            } catch let error where error is Gone ? isLastAttempt : (error as? DatabaseError)?.reason == .replicaDamaged {
                (failure, isSearching) = (failure ?? error, true)
            }
        }
        if let failure { throw failure }
        return nil
    }

    // MARK: Sending

    /// The entries that are in any chain.
    fileprivate var stored: ChangeLog.Position {
        chains.reduce(into: ChangeLog.Position()) { if listed[$1.key] != nil { $0 = $0.merged(with: $1.value.until) } }
    }

    /// Stores the entries that the other copies lack.
    private mutating func send() async throws {
        let chain = listed[own] == nil ? nil : chains[own], id = opened.id
        let next = ChangeSending(self, chain)
        guard let (message, answered) = try await log.withLog({ try next.message($0, in: id) }) else { return }
        chains.merge(answered) { $1 }
        guard let message else { return }
        try await put([UInt8](message.data), message, chain, next.now, answered)
        outcome.sent += message.count
    }

    private mutating func put(
        _ bytes: [UInt8], _ message: ChangeLog.Message, _ chain: ChangeChain?, _ now: Int64, _ answered: [[UInt8]: ChangeChain]
    ) async throws {
        let count = max(1, (bytes.count + store.partSize - 1) / store.partSize)
        guard count <= ChangeLink.largestPartCount else {
            throw DatabaseError(code: .tooBig, message: "the changes are too large for a store: \(bytes.count) bytes")
        }
        // Skips an incomplete message.
        var number = max(chain?.next ?? 0, (listed[own]?.last?.number ?? -1) + 1)
        var tag = chain?.tag ?? [UInt8](repeating: 0, count: ReplicaKey.tagCount)
        // The last object may differ from the object that was last read or stored there.
        if let last = listed[own]?.last, last.number + 1 != chain?.next || last.size != chain?.lastSize {
            tag = ChangeLink.tag(of: try await object(last.number, own))
        }
        let first = number
        var size = 0
        for part in 0..<count {
            let piece = bytes[part * store.partSize..<min(bytes.count, (part + 1) * store.partSize)]
            let link = ChangeLink(
                number: number, part: part, of: count, isWhole: message.isSnapshot, predecessor: tag, bytes: Array(piece))
            let object = try link.sealed(opened.key, context(own), store.random)
            if try await store.store.put(name(number, own), object, if: .isAbsent) == nil {
                // The reply may have been lost; or another copy with this name was faster.
                guard try await store.store.get(name(number, own))?.bytes == object else { throw Overtaken() }
            }
            (number, tag, size) = (number + 1, ChangeLink.tag(of: object), object.count)
        }
        var next = chain ?? ChangeChain(next: listed[own]?.first?.number ?? 0)
        // Objects that cannot be taken yet stay to be read, and so do later objects.
        if !isBehind {
            next.lastSize = size
            next.append(bytes.count, from: first, next: number, tag: tag, isWhole: message.isSnapshot)
            next.note(message)
        }
        next.time = now
        if !message.sums.isEmpty { next.checked = now }
        if message.isMend { next.mended = next.sums }
        if message.asks != nil { next.asked = now }
        let id = opened.id, own = own, place = next, isWhole = message.isSnapshot
        try await log.withLog { log in
            try log.setChain(place, own, in: id)
            for (name, chain) in answered { try log.setChain(chain, name, in: id) }
            if isWhole { try log.hasWholeState() }
        }
        chains[own] = next
    }

    private struct Overtaken: Error {}

    /// Removes this copy's objects before its last message with all rows, and prunes the entries that all copies have.
    private mutating func tidy() async throws {
        let patience = store.gracePeriod
        outcome.pruned = try await log.withLog { try $0.prune(gracePeriod: patience) }
        guard let chain = chains[own], chain.wholeAt > 0, chain.wholeSize > 0 else { return }
        for (number, _) in listed[own] ?? [] where number < chain.wholeAt { try await store.store.delete(name(number, own)) }
    }

    /// Receives and sends.
    static func run(_ log: SharedChangeLog, _ store: ChangeStore) async throws -> ChangeStore.Outcome {
        var exchange = try await ChangeExchange(log, store)
        for attempt in 1...attempts {
            try await exchange.receive()
            do {
                try await exchange.send()
                break
            } catch is Overtaken {
                guard attempt < attempts else {
                    throw DatabaseError(
                        code: .busy, reason: .busy, message: "another copy with the name \(log.localPeer) stores at the same time")
                }
            }
        }
        try await exchange.tidy()
        if let error = exchange.error { throw error }
        return exchange.outcome
    }
}

private extension ChangeChain {
    /// Returns true if the messages since the last message with all rows are so many or so large that another such message pays.
    func isLong(for store: ChangeStore) -> Bool {
        let count = next - wholeAt
        return size > store.largestSize + 2 * wholeSize || count >= store.largestCount && 2 * size >= wholeSize
            || count >= 4 * store.largestCount
    }
}

/// An object of a chain: a message of a change log, or one of several parts of it.
///
/// A header, which is authenticated, and the sealed part with its tag. The header has the number of the object in its chain, the
/// place and the number of the parts, whether the message has all rows, how many bytes of padding follow the part, and the tag of
/// the object before it.
private struct ChangeLink {
    private static let magic = Array("SCKS".utf8) + [2]
    private static let headerCount = 5 + 1 + 8 + 4 + 4 + 2 + 16 + ReplicaKey.nonceCount
    private static let largestPadding = 511
    /// The largest number of bytes that an object adds to its part.
    static let overhead = headerCount + ReplicaKey.tagCount + largestPadding
    static let largestNumber: Int64 = 1 << 40
    static let largestPartCount = 1 << 12

    let number: Int64
    let part: Int, partCount: Int
    let isWhole: Bool
    let predecessor: [UInt8]
    let bytes: [UInt8]

    func sealed(_ key: ReplicaKey, _ context: [UInt8], _ random: (Int) throws -> [UInt8]) throws -> [UInt8] {
        let nonce = try random(ReplicaKey.nonceCount)
        var header = Self.magic + [isWhole ? 1 : 0]
        header.append(number: UInt64(number))
        header.append(number: part, bytes: 4)
        header.append(number: partCount, bytes: 4)
        let padding = try random(2).reduce(0) { $0 << 8 | Int($1) } & Self.largestPadding
        header.append(number: padding, bytes: 2)
        header += predecessor + nonce
        let plain = bytes + [UInt8](repeating: 0, count: padding)
        return header + (try key.seal(plain, with: context + header, nonce: nonce))
    }

    init(number: Int64, part: Int, of count: Int, isWhole: Bool, predecessor: [UInt8], bytes: [UInt8]) {
        (self.number, self.part, partCount, self.isWhole) = (number, part, count, isWhole)
        (self.predecessor, self.bytes) = (predecessor, bytes)
    }

    /// - Parameters:
    ///   - number: the number in the object's name.
    ///   - context: the store and the chain.
    init(_ object: [UInt8], number: Int64, _ key: ReplicaKey, _ context: [UInt8]) throws {
        guard object.count >= Self.headerCount + ReplicaKey.tagCount, object.starts(with: Self.magic) else {
            throw DatabaseError.damagedChanges("an object does not have the expected content")
        }
        var reader = ByteReader(replica: object[5..<Self.headerCount])
        isWhole = try reader.number(UInt8.self) != 0
        let own = try reader.number(UInt64.self)
        (part, partCount) = (try reader.number(bytes: 4), try reader.number(bytes: 4))
        let padding = try reader.number(Int.self, bytes: 2)
        predecessor = Array(try reader.take(ReplicaKey.tagCount))
        let sealed = object[Self.headerCount...]
        guard let plain = key.open(sealed, with: context + object[..<Self.headerCount], nonce: reader.rest()) else {
            throw DatabaseError.damagedChanges("an object was changed, or sealed with another key") }
        guard own == UInt64(number), padding <= plain.count, (1...Self.largestPartCount).contains(partCount), part < partCount
        else {
            throw DatabaseError.damagedChanges("an object is out of place")
        }
        (self.number, bytes) = (number, Array(plain.dropLast(padding)))
    }

    static func tag(of object: [UInt8]) -> [UInt8] { Array(object.suffix(ReplicaKey.tagCount)) }
}

/// Decides a copy's next object.
///
/// The store may have fewer changes than the copies: if a chain was removed or an object damaged, a new copy lacks changes that
/// other copies have read. No copy knows which objects another copy can read. So a copy that lacks changes asks for them, and each
/// copy that has more changes answers with all its rows, which need no predecessor. Also, copies with the same entries compare
/// their rows, and merge all rows of each other if they differ.
private struct ChangeSending: Sendable {
    private let own: ChangeChain?, others: [[UInt8]: ChangeChain]
    private let stored: ChangeLog.Position
    private let isBehind: Bool, isLacking: Bool, isBroken: Bool
    private let store: ChangeStore
    let now: Int64
    /// The time between two questions, in seconds.
    private static let patience: Int64 = 600

    init(_ exchange: ChangeExchange, _ own: ChangeChain?) {
        (self.own, stored, store) = (own, exchange.stored, exchange.store)
        others = exchange.chains.filter { $0.key != exchange.own && exchange.listed[$0.key] != nil }
        isLacking = exchange.isLacking
        // Damaged objects of this copy's own chain have to go, unless they may be of another copy with its name. If this copy
        // refuses the objects there, as after a restore of an older schema, it has to wait until it can take them.
        let error = exchange.ownError as? DatabaseError
        isBroken = error?.reason == .replicaDamaged || error == .malformedLog
        isBehind = exchange.isBehind || exchange.ownError != nil && !isBroken
        now = Int64(exchange.log.now().timeIntervalSince1970)
    }

    /// - Returns: the message, and the state of the other chains after the message is stored; nil if there is nothing to store.
    func message(_ log: ChangeLog, in store: [UInt8]) throws -> (ChangeLog.Message?, [[UInt8]: ChangeChain])? {
        let isAsking = isLacking && now - (own?.asked ?? 0) >= Self.patience
        if isBehind { return isAsking ? (try log.question(), [:]) : nil }
        if isBroken, try log.position.sequence(of: log.localPeer) > own?.until.sequence(of: log.localPeer) ?? 0 { return nil }
        var (answered, isWhole, isMend) = try answers(log)
        isWhole = try isWhole || isBroken || log.lacksWholeState || own?.isLong(for: self.store) ?? false
        if isMend || isWhole { return (try withSums(isMend ? log.mend() : log.snapshot(), log), answered) }
        for (name, chain) in answered { try log.setChain(chain, name, in: store) }
        if isAsking { return (try log.question(), answered) }
        return (try entries(log), answered)
    }

    /// The entries that the store lacks, or an empty message if it has news for other copies.
    private func entries(_ log: ChangeLog) throws -> ChangeLog.Message? {
        let message: ChangeLog.Message
        do { message = try log.changes(since: stored) } catch let error as DatabaseError where error.reason == .changesMissing {
            return try withSums(log.snapshot(), log)
        }
        let isUnchecked = Double(now - (own?.checked ?? 0)) >= store.checkInterval / .seconds(1)
        guard message.isEmpty, let own else { return isUnchecked ? try withSums(message, log) : message }
        if isUnchecked, own.checked == nil || own.sums?.position != message.until { return try withSums(message, log) }
        // This allows other copies to prune; it need not happen at each synchronization.
        return own.asks != nil && !isLacking || message.until != own.until && now - own.time >= 3600 ? message : nil
    }

    private func withSums(_ message: ChangeLog.Message, _ log: ChangeLog) throws -> ChangeLog.Message {
        var message = message
        try log.addSums(to: &message)
        return message
    }

    /// Returns the requests of the other chains: the answered chains, whether to store all rows, and whether these rows must mend
    /// other copies.
    private func answers(_ log: ChangeLog) throws -> (answered: [[UInt8]: ChangeChain], isWhole: Bool, isMend: Bool) {
        let position = try log.position
        var answered: [[UInt8]: ChangeChain] = [:], isWhole = false, isMend = false, sums: ChangeLog.RowSums?
        for (name, chain) in others {
            var chain = chain
            if let asks = chain.asks, chain.askedAt != chain.answered, !asks.includes(position) {
                (chain.answered, isWhole) = (chain.askedAt, true)
                answered[name] = chain
            }
            if let theirs = chain.sums, theirs.position == position {
                let mine = try sums ?? log.rowSums()
                sums = mine
                guard mine.position == position else { continue }
                // If this copy has already sent its rows, it is the other copy's turn to take them.
                if mine.differ(from: theirs), own?.mended != mine { isMend = true }
                chain.sums = nil
                answered[name] = chain
            }
        }
        return (answered, isWhole, isMend)
    }
}
