// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "SQLCipherKit",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "SQLCipherKit", targets: ["SQLCipherKit"]),
        .executable(name: "sqlcipherkit", targets: ["SQLCipherKitCLI"]),
    ],
    traits: [
        .trait(
            name: "OpenSSL",
            description: "Encrypt with OpenSSL's libcrypto in place of LibTomCrypt."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibTomCrypt",
            pkgConfig: "libtomcrypt",
            providers: [.apt(["libtomcrypt-dev"]), .brew(["libtomcrypt"])]),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .target(
            name: "CSQLCipher",
            dependencies: [
                "CLibTomCrypt",
                .target(name: "COpenSSL", condition: .when(traits: ["OpenSSL"])),
            ],
            cSettings: [
                .define("SQLCIPHERKIT_OPENSSL", .when(traits: ["OpenSSL"])),
            ],
            linkerSettings: [
                .linkedLibrary("m", .when(platforms: [.linux])),
            ]),
        .target(
            name: "SQLCipherKit",
            dependencies: ["CSQLCipher"]),
        .executableTarget(
            name: "SQLCipherKitCLI",
            dependencies: [
                "SQLCipherKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .executableTarget(
            name: "ProviderProbe",
            dependencies: ["CSQLCipher"],
            path: "Tests/ProviderProbe",
            exclude: ["exchange.py"]),
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .executableTarget(name: "FaultDriver", dependencies: ["CSQLCipher", "SQLCipherKit"], path: "Tests/FaultDriver"),
        .testTarget(name: "CSQLCipherTests", dependencies: ["CSQLCipher", "ProviderProbe", "TestSupport"]),
        .testTarget(name: "SQLCipherKitTests", dependencies: ["SQLCipherKit", "TestSupport", "FaultDriver"]),
        .testTarget(name: "CLITests", dependencies: ["SQLCipherKit", "SQLCipherKitCLI", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
