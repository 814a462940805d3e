// swift-tools-version: 6.1
import PackageDescription

/// A program of the folder `name`, with the products that it needs.
func program(_ name: String, _ products: String..., targets: [Target.Dependency] = []) -> Target {
    .executableTarget(name: name, dependencies: products.map { .product(name: $0, package: "SQLCipherKit") } + targets)
}

// Programs that use a release of the package and have nothing else, one for each product. ReleaseConsumerTests puts the release in
// its place.
let package = Package(
    name: "Consumer",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "SQLCipherKit", path: "../SQLCipherKit"),
    ],
    targets: [
        program("App", "SQLCipherKit"),
        program("Core", "SQLCipherKitCore"),
        program("Sync", "SQLCipherKit", "SQLCipherKitSync"),
        program("Replication", "SQLCipherKit", "SQLCipherKitReplication"),
        program("Vectors", "SQLCipherKit", "SQLCipherKitVectors"),
        .target(name: "CExtension", dependencies: [.product(name: "SQLiteExtensionHeaders", package: "SQLCipherKit")]),
        program("Extension", "SQLCipherKit", targets: ["CExtension"]),
        program("Plain", "SQLCipher"),
    ],
    swiftLanguageModes: [.v6]
)
