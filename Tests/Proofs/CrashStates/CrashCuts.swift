/// A power cut: the place where the run ended, and the changes that were not on the disk by then.
struct CrashCut {
    /// The part of a change that is on the disk.
    enum Extent {
        case none
        /// These bytes of a write.
        case bytes(Range<Int>)
    }

    /// The number of changes that were made.
    var end: Int
    /// The changes that are not on the disk, or not as a whole.
    var missing: [Int: Extent] = [:]
}

/// The orders that a file system may give to changes that no sync has ordered.
enum CrashModel: String, CaseIterable {
    /// The promises of POSIX, which are next to nothing: a sync of a file makes its content durable and not its name; a sync of the
    /// folder makes its names durable; without them, each write, truncation, creation, removal and rename may be on the disk or
    /// not, independently of all others. A rename is atomic, and so are 512 bytes.
    case weak
    /// Names and sizes reach the disk in their order, as with ext4 and XFS; any sync takes all earlier changes along. Writes are as
    /// in `weak`.
    case ordered
    /// A kill instead of a power cut: all changes are there.
    case kept
}

/// Chooses the power cuts of a run, as exponentially many are possible: every prefix; a prefix with nothing that was not synced;
/// each change that was not synced missing from it, or alone in it, or torn; each file's changes missing or alone; all names or all
/// content missing; and some random mixtures. The choice follows Pillai et al., "All File Systems Are Not Created Equal" (2014).
struct CrashCuts {
    let log: CrashLog
    let model: CrashModel
    /// Random mixtures for each prefix.
    let mixtures: Int

    func all(_ random: inout some RandomNumberGenerator) -> [CrashCut] {
        var cuts: [CrashCut] = []
        for end in 0...log.changes.count {
            // A cut right after a sync is one before it as well.
            if end > 0, [.sync, .syncFolder].contains(kind(end - 1)) { continue }
            cuts.append(CrashCut(end: end))
            let open = unsynced(end)
            if open.isEmpty || model == .kept { continue }
            if model == .ordered { addOrdered(end, open, &cuts) } else { addWeak(end, open, &cuts) }
            for change in open { addTorn(end, change, open, &cuts) }
            for _ in 0..<mixtures { cuts.append(mixture(end, open, &random)) }
        }
        return cuts
    }

    private enum Kind { case sync, syncFolder, other }

    private func kind(_ number: Int) -> Kind {
        switch log.changes[number].action {
        case .sync: .sync
        case .syncFolder: .syncFolder
        default: .other
        }
    }

    /// The changes of a prefix that no sync has made durable.
    private func unsynced(_ end: Int) -> [Int] {
        var open: [Int] = [], synced: Set<Int> = [], areNamesSynced = false
        for number in (0..<end).reversed() {
            let change = log.changes[number]
            switch change.action {
            case .sync:
                synced.insert(change.file)
                if model == .ordered { areNamesSynced = true }
            case .syncFolder: areNamesSynced = true
            case .mark: break
            default: if change.isOfNames ? !areNamesSynced : !synced.contains(change.file) { open.append(number) }
            }
        }
        return open.reversed()
    }

    private func addWeak(_ end: Int, _ open: [Int], _ cuts: inout [CrashCut]) {
        cuts.append(without(open, end))
        if open.count < 2 { return }
        for change in open {
            cuts.append(without([change], end))
            cuts.append(without(open.filter { $0 != change }, end))
        }
        let names = open.filter { log.changes[$0].isOfNames }, contents = open.filter { log.changes[$0].isOfContent }
        if names.isEmpty || contents.isEmpty, Set(contents.map { log.changes[$0].file }).count < 2 { return }
        cuts += [without(names, end), without(contents, end)]
        for file in Set(open.map { log.changes[$0].file }) {
            cuts.append(without(open.filter { log.changes[$0].file == file }, end))
            cuts.append(without(open.filter { log.changes[$0].file != file }, end))
            // The file's content alone, under every name.
            cuts.append(without(open.filter { log.changes[$0].isOfContent && log.changes[$0].file == file }, end))
            cuts.append(without(open.filter { log.changes[$0].isOfContent && log.changes[$0].file != file }, end))
        }
    }

    /// True if the journal of the file system keeps a change in the order of its kind.
    private func isInOrder(_ change: Int) -> Bool {
        if case .truncate = log.changes[change].action { return true }
        return log.changes[change].isOfNames
    }

    private func addOrdered(_ end: Int, _ open: [Int], _ cuts: inout [CrashCut]) {
        let ordered = open.filter { isInOrder($0) }, free = open.filter { !isInOrder($0) }
        for number in 0...ordered.count {
            let late = Array(ordered[number...])
            cuts += [without(late, end), without(late + free, end)]
            if number > 0, number < ordered.count { continue }
            for change in free {
                cuts.append(without(late + [change], end))
                cuts.append(without(late + free.filter { $0 != change }, end))
            }
        }
    }

    private func addTorn(_ end: Int, _ change: Int, _ open: [Int], _ cuts: inout [CrashCut]) {
        let sectors = sectors(change)
        if sectors.count < 2 { return }
        let size = sectors[sectors.count - 1].upperBound, half = sectors[sectors.count / 2].lowerBound
        for part in [0..<half, half..<size, sectors[0]] {
            for others in [[], open.filter { $0 != change }] {
                var cut = without(others, end)
                cut.missing[change] = .bytes(part)
                cuts.append(cut)
            }
        }
    }

    private func mixture(_ end: Int, _ open: [Int], _ random: inout some RandomNumberGenerator) -> CrashCut {
        var cut = CrashCut(end: end)
        let first = model == .ordered ? open.filter { isInOrder($0) }.randomElement(using: &random) ?? end : end
        for change in open {
            if model == .ordered, isInOrder(change) {
                if change >= first { cut.missing[change] = CrashCut.Extent.none }
                continue
            }
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7: cut.missing[change] = CrashCut.Extent.none
            case 7..<10:
                let sectors = sectors(change)
                guard sectors.count > 1, let from = sectors.randomElement(using: &random) else { continue }
                let isHead = Bool.random(using: &random), size = sectors[sectors.count - 1].upperBound
                cut.missing[change] = .bytes(isHead ? 0..<from.lowerBound : from.lowerBound..<size)
            default: break
            }
        }
        return cut
    }

    private func without(_ changes: [Int], _ end: Int) -> CrashCut {
        CrashCut(end: end, missing: Dictionary(uniqueKeysWithValues: changes.map { ($0, .none) }))
    }

    /// The parts of a write that are in one sector of the file each.
    private func sectors(_ change: Int) -> [Range<Int>] {
        guard case .write(let offset, let bytes) = log.changes[change].action else { return [] }
        let size = 512
        return (offset / size...max(offset, offset + bytes.count - 1) / size).map { sector in
            max(0, sector * size - offset)..<min(bytes.count, (sector + 1) * size - offset)
        }
    }
}
