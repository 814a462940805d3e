import SQLCipherKitCore
import SQLCipherKitMaintenance

/// Decides what a copy stores next.
///
/// What the store has is not all that its copies have: a chain may be removed, an object damaged, and what was read from there is
/// then missing for a copy that joins. No copy can know what another one is able to read. So a copy that cannot take something
/// asks, and each copy that has more answers with all rows, which follow nothing. Also, copies with the same entries compare their
/// rows, and merge all rows of each other if they differ.
struct ChangeSending: Sendable {
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
        (isBehind, isLacking) = (exchange.isBehind, exchange.isLacking)
        // What cannot be read of this copy's own chain has to go, unless it may be of another copy with its name.
        isBroken = exchange.failed.contains(exchange.own)
        now = Int64(exchange.log.now().timeIntervalSince1970)
    }

    /// - Returns: the message, and what is known of the other chains after it was stored; nil if nothing is to be stored.
    func message(_ log: ChangeLog, in store: [UInt8]) throws -> (ChangeLog.Message?, [[UInt8]: ChangeChain])? {
        let isAsking = isLacking && now - (own?.asked ?? 0) >= Self.patience
        if isBehind { return isAsking ? (try log.question(), [:]) : nil }
        if isBroken, try log.position.sequence(of: log.peer) > own?.until.sequence(of: log.peer) ?? 0 { return nil }
        var (answered, isWhole, isMend) = try answers(log)
        isWhole = try isWhole || isBroken || log.lacksWholeState || own?.isLong(for: self.store) ?? false
        if isMend || isWhole { return (try withSums(isMend ? log.mend() : log.wholeState(), log), answered) }
        for (name, chain) in answered { try log.setChain(chain, name, in: store) }
        if isAsking { return (try log.question(), answered) }
        return (try entries(log), answered)
    }

    /// The entries that the store lacks, or a message without entries if it says something new.
    private func entries(_ log: ChangeLog) throws -> ChangeLog.Message? {
        let message: ChangeLog.Message
        do throws(DatabaseError) { message = try log.changes(since: stored) } catch {
            guard error.reason == .changesMissing else { throw error }
            return try withSums(log.wholeState(), log)
        }
        let isUnchecked = Double(now - (own?.checked ?? 0)) >= store.checkInterval / .seconds(1)
        guard message.isEmpty, let own else { return isUnchecked ? try withSums(message, log) : message }
        if isUnchecked, own.checked == nil || own.sums?.position != message.until { return try withSums(message, log) }
        // So that the others can prune; but not at each synchronisation.
        return own.asks != nil && !isLacking || message.until != own.until && now - own.time >= 3600 ? message : nil
    }

    private func withSums(_ message: ChangeLog.Message, _ log: ChangeLog) throws -> ChangeLog.Message {
        var message = message
        try log.addSums(to: &message)
        return message
    }

    /// What the other chains ask for: whether all rows have to be stored, and to mend others.
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
                // If this copy has already told what it has, it is for the other one to take it.
                if mine.differ(from: theirs), own?.mended != mine { isMend = true }
                chain.sums = nil
                answered[name] = chain
            }
        }
        return (answered, isWhole, isMend)
    }
}
