import Foundation
import TestSupport

/// `Vendor/pins.json`, as far as the tests look at it.
struct Pins: Decodable {
    struct Archive: Decodable { let file: String, sha256: String, bytes: Int }
    struct Member: Decodable { let file: String, sha256: String, bytes: Int }
    struct Package: Decodable { let name: String, version: String }
    struct Upstream: Decodable {
        let name: String, licence: String
        let cipherVersion: String?, version: String?, sourceID: String?, minimumVersion: String?
        let package: Package?, archive: Archive?, members: [Member]?
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
