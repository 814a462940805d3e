import Foundation
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// How far a restore has come, so that another one can go on with the pages that are there.
///
/// It is sealed with the key of the replica. All pages up to it were authentic when they were written, and are checked again when
/// the file is complete.
struct RestoreProgress: Codable {
    private static let magic = Array("SQLCipherKit restore 2".utf8)

    /// What was seen of the replica.
    var held: FollowerState.Held
    let generation: UInt32
    let pageSize: Int
    /// The identity of the snapshot: its term, its number, and the tag before it.
    let snapshot: [UInt8]
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

    init(_ plan: ReplicaReader.Plan, holding held: FollowerState.Held) {
        (self.held, generation, pageSize) = (held, plan.generation, plan.pageSize)
        (snapshot, place, pages, target) = (plan.snapshot.identity, plan.start, plan.snapshot.pages, plan.commit)
        snapshotPlace = ReplicaReader.SnapshotPlace(tag: plan.snapshot.predecessor)
    }

    /// - Returns: nil if the record is of something else, or was changed.
    /// - Throws: ``DatabaseError/Reason/replicaDamaged`` if the key has sealed something that is no record of this form.
    init?(_ record: [UInt8], with key: ReplicaKey) throws(DatabaseError) {
        guard record.count > ReplicaKey.nonceCount + ReplicaKey.tagCount else { return nil }
        let start = ReplicaKey.nonceCount
        let plain = record.withUnsafeBytes { record in
            Self.magic.withUnsafeBytes { magic in
                key.open(record.slice(start..<record.count), with: magic, nonce: record.slice(0..<start))
            }
        }
        guard let plain else { return nil }
        do { self = try JSONDecoder().decode(Self.self, from: Data(plain)) } catch {
            throw .damagedReplica("what an interrupted restore has left is of an unknown form: remove the file -restoring-state")
        }
    }

    func sealed(with key: ReplicaKey) throws -> [UInt8] {
        let nonce = try ReplicaKey.random(ReplicaKey.nonceCount), plain = [UInt8](try JSONEncoder().encode(self))
        return try nonce + Self.magic.withUnsafeBytes { try key.seal(plain, with: $0, nonce: nonce) }
    }

    /// Whether what was seen of the replica is in its history. If not, a state that is named may be restored all the same, without
    /// the pages.
    /// - Throws: ``DatabaseError/Reason/replicaRolledBack`` or ``DatabaseError/Reason/replicaForked`` for the newest state: there
    ///   was a newer one, or another.
    func isPart(of reader: ReplicaReader, _ moment: Replica.Moment, _ path: String) throws -> Bool {
        guard held.sections.last == reader.section else { return false }
        do { try held.require(in: reader.held.place, reader.opening) } catch let error as DatabaseError {
            guard case .newest = moment else { return false }
            throw DatabaseError(
                code: error.code, reason: error.reason,
                message: error.message + ". To restore what it has all the same, remove \(path)-restoring-state", path: path)
        }
        return true
    }

    /// Whether the pages are a part of the state of the plan. The log says by its tags whether it continues them.
    func leads(to plan: ReplicaReader.Plan) -> Bool {
        guard plan.generation == generation, plan.pageSize == pageSize, plan.commit >= target else { return false }
        if snapshotPlace != nil { return plan.snapshot.identity == snapshot }
        // A later snapshot needs less of the log.
        return plan.snapshot.identity == snapshot || place.frames >= plan.snapshot.first
    }

    /// The number of bytes that are read for the plan, those included that were read already.
    func total(of plan: ReplicaReader.Plan) -> Int {
        let left = snapshotPlace.map { plan.snapshot.size - $0.bytes } ?? 0
        return plan.log.reduce(bytes + left) { $0 + ($1.entry.end > place.frames ? $1.entry.size : 0) }
    }
}

extension ReplicaIndex.SnapshotEntry {
    var identity: [UInt8] {
        var bytes = term + predecessor
        bytes.append(short: number)
        return bytes
    }
}
