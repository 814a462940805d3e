import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// How far a restore has come, so that another one can go on with the pages that are there.
///
/// It is sealed with the key of the replica. All pages up to it were authentic when they were written, and are checked again when
/// the file is complete.
struct RestoreProgress: Codable {
    private static let magic = Array("SQLCipherKit restore 1".utf8)

    /// The identity of the section, and the number of the generation.
    let section: [UInt8]
    let generation: UInt64
    let pageSize: Int
    let snapshot: ReplicaContents.Snapshot
    /// The place in the snapshot; nil if all of it is there.
    var snapshotPlace: ReplicaReader.SnapshotPlace?
    /// The place in the log. It may be within a block.
    var place: ReplicaReader.Place
    /// The number of pages that the database has there.
    var pages: UInt32
    /// The last commit that pages may be from: nothing before it can be restored with them any more.
    var target: UInt64
    /// The number of bytes that were read.
    var bytes = 0

    init(_ plan: ReplicaReader.Plan, section: [UInt8]) {
        (self.section, generation, pageSize) = (section, plan.generation.number, plan.generation.pageSize)
        (snapshot, place, pages, target) = (plan.snapshot, plan.start, plan.snapshot.pages, plan.commit)
        snapshotPlace = ReplicaReader.SnapshotPlace(tag: plan.snapshot.predecessor)
    }

    /// - Returns: nil if the record is of something else, or was changed.
    init?(_ record: [UInt8], with key: ReplicaKey) {
        guard record.count > ReplicaKey.nonceCount + ReplicaKey.tagCount else { return nil }
        let start = ReplicaKey.nonceCount
        let plain = record.withUnsafeBytes { record in
            Self.magic.withUnsafeBytes { magic in
                key.open(record.slice(start..<record.count), with: magic, nonce: record.slice(0..<start))
            }
        }
        guard let plain, let progress = try? JSONDecoder().decode(Self.self, from: Data(plain)) else { return nil }
        self = progress
    }

    func sealed(with key: ReplicaKey) throws -> [UInt8] {
        let nonce = try ReplicaKey.random(ReplicaKey.nonceCount), plain = [UInt8](try JSONEncoder().encode(self))
        return try nonce + Self.magic.withUnsafeBytes { try key.seal(plain, with: $0, nonce: nonce) }
    }

    /// Whether the state of the plan can be reached from here.
    func leads(to plan: ReplicaReader.Plan, section: [UInt8]) -> Bool {
        let generation = plan.generation
        guard section == self.section, generation.number == self.generation, generation.pageSize == pageSize,
            plan.commit >= target
        else { return false }
        if snapshotPlace != nil { return generation.snapshots.contains(snapshot) }
        return place.commits == plan.commit || generation.log.first.map { $0.first <= place.frames } ?? false
    }

    /// The number of bytes that are read for the plan, those included that were read already.
    func total(of plan: ReplicaReader.Plan) -> Int {
        let entries = plan.generation.log.filter { $0.end > place.frames && $0.commitsBefore < plan.commit }
        let left = snapshotPlace.map { snapshot.size - $0.bytes } ?? 0
        return entries.reduce(bytes + left) { $0 + $1.size }
    }
}
