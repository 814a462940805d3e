// swift-tools-version: 6.2
import PackageDescription

// The parts that both sample servers need of an HTTP server over an encrypted database.
let package = Package(
    name: "Serving",
    platforms: [.macOS(.v15)],
    products: [.library(name: "Serving", targets: ["Serving"])],
    dependencies: [
        // By URL, it would need the same traits as in the package of the program: SwiftPM 6.3 resolves nothing else.
        .package(name: "SQLCipherKit", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(
            name: "Serving",
            dependencies: [
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitReplication", package: "SQLCipherKit"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
