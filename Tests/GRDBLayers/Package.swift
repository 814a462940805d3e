// swift-tools-version: 6.1
import PackageDescription

// A program with both Swift layers in it: GRDB on the product SQLCipher, and SQLCipherKit. scripts/workshop/check-grdb puts GRDB
// where this looks, and runs it.
let package = Package(
    name: "GRDBLayers",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(path: "../../.build/check-grdb/GRDB.swift"),
        .package(path: "Companion"),
        .package(name: "SQLCipherKit", path: "../.."),
    ],
    targets: [
        .executableTarget(
            name: "GRDBLayers",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Companion", package: "Companion"),
                .product(name: "SQLCipher", package: "SQLCipherKit"),
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
