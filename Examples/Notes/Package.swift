// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Notes",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In a package of your own: .package(url: "<this repository>", from: "1.0.0", traits: ["Macros", .defaults])
        .package(name: "SQLCipherKit", path: "../..", traits: ["Macros", .defaults])
    ],
    targets: [
        .target(
            name: "NotesKit",
            dependencies: [
                .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SQLCipherKitReplication", package: "SQLCipherKit"),
            ]),
        .executableTarget(name: "notes", dependencies: ["NotesKit"]),
        .testTarget(name: "NotesTests", dependencies: ["NotesKit", "notes"]),
    ],
    swiftLanguageModes: [.v6]
)
