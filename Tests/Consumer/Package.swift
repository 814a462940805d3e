// swift-tools-version: 6.1
import PackageDescription

// A program that uses a release of the package and has nothing else. ReleaseConsumerTests puts the release in its place.
let package = Package(
    name: "Consumer",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "SQLCipherKit", path: "../SQLCipherKit"),
    ],
    targets: [
        .executableTarget(name: "App", dependencies: [.product(name: "SQLCipherKit", package: "SQLCipherKit")]),
    ],
    swiftLanguageModes: [.v6]
)
