// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Notes",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In a package of your own: .package(url: "<this repository>", from: "1.0.0", traits: ["Macros", .defaults])
        .package(name: "SQLCipherKit", path: "../..", traits: ["Macros", .defaults]),
        .package(path: "../Serving"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(
            name: "NotesKit",
            dependencies: [
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitReplication", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitSync", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitVectors", package: "SQLCipherKit"),
            ]),
        .target(
            name: "NotesWeb",
            dependencies: [
                "NotesKit", "Serving",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: ["index.html", "notes.css", "notes.js", "editor.js", "drafts.js", "changes.js", "server.js"].map {
                .embedInCode("Page/\($0)")
            }),
        .executableTarget(name: "notes", dependencies: ["NotesKit", "NotesWeb"]),
        .testTarget(name: "NotesTests", dependencies: ["NotesKit", "notes"]),
        .testTarget(
            name: "NotesWebTests",
            dependencies: [
                "NotesWeb", "notes",
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
