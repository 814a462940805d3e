// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

// The command-line tool, the tests, and the one package that these need are here only where SQLCIPHERKIT_DEVELOPMENT is set, as the
// scripts do: users of the library fetch nothing but this package, from a checkout too.
let isDevelopment = Context.environment["SQLCIPHERKIT_DEVELOPMENT"] != nil

let engineDependencies: [Target.Dependency] = [
    "CSQLCipherProvider", .target(name: "COpenSSL", condition: .when(traits: ["OpenSSL"])),
]
// Where the primitives come from that the package has no kernel of its own for: Sources/CSQLCipher/Provider/Primitives/library.h.
let engineSettings: [CSetting] = [
    .define("SQLCIPHERKIT_OPENSSL", .when(traits: ["OpenSSL"])),
    .define("SQLCIPHERKIT_LIBTOMCRYPT", .when(platforms: [.linux], traits: ["LibTomCrypt"])),
]
let engineLinking: [LinkerSetting] = [.linkedLibrary("m", .when(platforms: [.linux]))]

let package = Package(
    name: "SQLCipherKit",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "SQLCipherKit", targets: ["SQLCipherKit"]),
        // Replication to a folder or an object store.
        .library(name: "SQLCipherKitReplication", targets: ["SQLCipherKitReplication"]),
        // The engine alone, under SQLite's own names, for GRDB, SQLite.swift and C.
        .library(name: "SQLCipher", targets: ["SQLCipher"]),
    ],
    traits: [
        .trait(
            name: "OpenSSL",
            description: "Encrypt with OpenSSL's libcrypto."),
        .trait(
            name: "LibTomCrypt",
            description: "On Linux, take SHA-1, SHA-256 and AES for CPUs without AES instructions from LibTomCrypt, not plain C."),
        .trait(
            name: "Macros",
            description: "The macro @Record. It brings swift-syntax, which nothing else fetches."),
        .trait(
            name: "S3",
            description: "Replication to object stores. It brings async-http-client and swift-crypto, which nothing else fetches."),
        .default(enabledTraits: ["LibTomCrypt"]),
    ],
    dependencies: [
        // Of the trait Macros alone: SwiftPM leaves out a package whose every use is behind a trait that is off.
        .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"604.0.0"),
        // Of the trait S3 alone.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
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
        // The folder Sources/CSQLCipher makes two targets: both engines share the provider.
        .target(
            name: "CSQLCipherProvider",
            dependencies: [
                // Only where it is used: Apple's platforms have CommonCrypto, and the others this package's own C.
                .target(name: "CLibTomCrypt", condition: .when(platforms: [.linux], traits: ["LibTomCrypt"])),
                .target(name: "COpenSSL", condition: .when(traits: ["OpenSSL"])),
            ],
            path: "Sources/CSQLCipher",
            exclude: ["Engine", "Provider/Pages/PAGES.md"],
            sources: ["Provider", "System"],
            publicHeadersPath: "System/include",
            cSettings: engineSettings),
        .target(
            name: "CSQLCipher",
            dependencies: engineDependencies,
            exclude: ["Engine/ENGINE.md", "Provider", "System"],
            cSettings: engineSettings,
            linkerSettings: engineLinking),
        .target(
            name: "SQLCipher",
            dependencies: engineDependencies,
            cSettings: engineSettings + [.define("SQLCIPHERKIT_PLAIN_SYMBOLS")],
            linkerSettings: engineLinking),
        .target(
            name: "SQLCipherKit",
            dependencies: ["CSQLCipher", .target(name: "SQLCipherKitMacros", condition: .when(traits: ["Macros"]))]),
        .target(
            name: "SQLCipherKitReplication",
            dependencies: [
                "SQLCipherKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["S3"])),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["S3"])),
            ]),
        .macro(
            name: "SQLCipherKitMacros",
            dependencies: [
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])),
            ]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)

if isDevelopment {
    package.products.append(.executable(name: "sqlcipherkit", targets: ["Tool"]))
    package.dependencies.append(.package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"))
    package.targets += [
        // All of the tool but its start, so that the tests can run its commands.
        .target(
            name: "SQLCipherKitCLI",
            dependencies: [
                "SQLCipherKit",
                "SQLCipherKitReplication",
                "ToolStart",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .executableTarget(
            name: "Tool",
            dependencies: ["SQLCipherKitCLI"],
            // Addresses of functions are bound at the start, so that their table is read-only from then on. SwiftPM has no safe
            // setting for it; an unsafe one is no harm in a program that no package depends on.
            linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"], .when(platforms: [.linux]))]),
        .target(name: "ToolStart"),
        .executableTarget(
            name: "ProviderProbe",
            dependencies: ["CSQLCipher"],
            path: "Tests/ProviderProbe",
            exclude: ["exchange.py"],
            cSettings: engineSettings),
        .executableTarget(name: "BothEngines", dependencies: ["SQLCipher", "SQLCipherKit"], path: "Tests/BothEngines"),
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .target(name: "KillPoints", path: "Tests/KillPoints", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "FaultMemory", dependencies: ["CSQLCipher"], path: "Tests/FaultMemory"),
        .target(
            name: "SweepScenarios", dependencies: ["KillPoints", "SQLCipherKit", "SQLCipherKitCLI", "TestSupport"],
            path: "Tests/SweepScenarios"),
        .executableTarget(
            name: "FaultDriver", dependencies: ["CSQLCipher", "FaultMemory", "KillPoints", "SQLCipherKit", "SweepScenarios"],
            path: "Tests/FaultDriver"),
        .executableTarget(name: "Model", dependencies: ["CSQLCipher", "SQLCipherKit"], path: "Tests/Proofs/Model"),
        .executableTarget(
            name: "CrashStates", dependencies: ["KillPoints", "SQLCipherKit", "SweepScenarios", "TestSupport"],
            path: "Tests/Proofs/CrashStates"),
        .executableTarget(name: "Soak", dependencies: ["SQLCipherKit"], path: "Tests/Proofs/Soak"),
        .testTarget(name: "CSQLCipherTests", dependencies: ["CSQLCipher", "ProviderProbe", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitTests", dependencies: ["SQLCipherKit", "TestSupport", "FaultDriver", "CrashStates", "Model"]),
        .executableTarget(name: "ReplicaProof", dependencies: ["SQLCipherKitReplication"], path: "Tests/Proofs/ReplicaProof"),
        .testTarget(name: "SQLCipherKitReplicationTests", dependencies: ["SQLCipherKitReplication", "TestSupport", "ReplicaProof"]),
        .target(name: "LibFuzzer", path: "Tests/LibFuzzer"),
        .testTarget(name: "FuzzTests", dependencies: ["LibFuzzer", "SQLCipherKit", "SQLCipherKitCLI", "TestSupport"],
            exclude: ["Findings", "Seeds"]),
        .testTarget(name: "CLITests", dependencies: ["SQLCipherKit", "Tool", "TestSupport"]),
    ]
}

// scripts/workshop/fuzz builds nothing else.
if Context.environment["SQLCIPHERKIT_FUZZING"] != nil {
    package.targets.removeAll { $0.type == .test && $0.name != "FuzzTests" }
} else {
    // In release the tests' own code is not optimized, which takes longer than all else together. What they test is, and so are the
    // programs that they start: the machines of Tests/Proofs, the drivers of the sweeps, the tool.
    for target in package.targets where target.type == .test {
        let settings = ["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"]
        target.swiftSettings = [.unsafeFlags(settings, .when(configuration: .release))]
    }
}
