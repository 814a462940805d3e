import Foundation
import TestSupport

/// `Vendor/pins.json`, as far as the tests look at it.
struct Pins: Decodable {
    /// An archive that has upstream's files.
    struct Carrier: Decodable { let kind: String, purl: String, file: String?, sha256: String?, bytes: Int? }
    struct Sum: Decodable { let sha256: String, bytes: Int }
    /// A file of the archive. With patches, `patched` is the one that is installed.
    struct Member: Decodable {
        let file: String, sha256: String, bytes: Int, patched: Sum?
        var installed: String { patched?.sha256 ?? sha256 }
    }
    struct Patch: Decodable { let file: String, sha256: String }
    struct Upstream: Decodable {
        let name: String, kind: String, licence: String
        let cipherVersion: String?, version: String?, sourceID: String?, minimumVersion: String?, purl: String?, cpe: String?
        let carriers: [Carrier]?, members: [Member]?, patches: [Patch]?
        /// The folder in Vendor/sqlcipher that has the members, of source that is used as it is.
        let folder: String?
    }
    struct Missing: Error { let name: String }

    let upstreams: [Upstream]

    static func load() throws -> Pins {
        try JSONDecoder().decode(Pins.self, from: Data(contentsOf: Repository.file("Vendor/pins.json")))
    }

    func upstream(_ name: String) throws -> Upstream {
        guard let found = upstreams.first(where: { $0.name == name }) else { throw Missing(name: name) }
        return found
    }
}
