// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "SearchServer",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In a package of your own: .package(url: "<this repository>", from: "1.0.0", traits: ["S3", .defaults])
        .package(name: "SQLCipherKit", path: "../..", traits: ["S3", .defaults]),
        .package(path: "../Serving"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .target(
            name: "SearchServerKit",
            dependencies: [
                "Serving",
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitReplication", package: "SQLCipherKit"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "search-server",
            dependencies: ["SearchServerKit", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        .testTarget(
            name: "SearchServerTests",
            dependencies: ["SearchServerKit", "search-server", .product(name: "HummingbirdTesting", package: "hummingbird")]),
    ],
    swiftLanguageModes: [.v6]
)
