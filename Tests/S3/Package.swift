// swift-tools-version: 6.1
import PackageDescription

// The tests of S3Store: a package of their own, as the trait that has it brings an HTTP client, which builds for minutes.
// scripts/workshop/check-replication starts a server for them.
let package = Package(
    name: "S3",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "SQLCipherKit", path: "../..", traits: ["S3", .defaults])],
    targets: [
        // The program of one of several hosts: scripts/workshop/check-replication --network.
        .executableTarget(
            name: "ReplicaPeer",
            dependencies: [
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitReplication", package: "SQLCipherKit"),
            ]),
        .testTarget(
            name: "S3Tests",
            dependencies: [
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitReplication", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitSync", package: "SQLCipherKit"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
