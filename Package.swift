// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

// The command-line tool, the tests, and the one package that these need are here only where SQLCIPHERKIT_DEVELOPMENT is set, as the
// scripts do: users of the library fetch nothing but this package, from a checkout too.
let development = Context.environment["SQLCIPHERKIT_DEVELOPMENT"]
// In the package's own folder, not where SwiftPM has checked it out for another package, which may not have unsafe flags.
let isDevelopment = development != nil && !Context.packageDirectory.contains("/checkouts/")
// SQLCIPHERKIT_DEVELOPMENT=all adds what the gate does without, above all the engine's second compilation.
let hasAll = !isDevelopment || development == "all"

let engineDependencies: [Target.Dependency] = [
    "CSQLCipherProvider", .target(name: "COpenSSL", condition: .when(traits: ["OpenSSL"])),
]
// The tests run the C that users have. Debug information of variables would take a quarter of its compilation.
// Where the primitives come from that the package has no kernel of its own for: Sources/CSQLCipher/Provider/Primitives/library.h.
let engineSettings: [CSetting] = [
    .define("SQLCIPHERKIT_OPENSSL", .when(traits: ["OpenSSL"])),
    .define("SQLCIPHERKIT_LIBTOMCRYPT", .when(platforms: [.linux], traits: ["LibTomCrypt"])),
] + (isDevelopment ? [.unsafeFlags(["-O2", "-gline-tables-only"], .when(configuration: .debug))] : [])
let engineLinking: [LinkerSetting] = [.linkedLibrary("m", .when(platforms: [.linux]))]

// What SQLCipherKit re-exports.
let parts = [
    "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitFiles", "SQLCipherKitRecords", "SQLCipherKitSearch",
]

let package = Package(
    name: "SQLCipherKit",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        // With the modules that it re-exports: SwiftPM compiles a program again only if a target that it names has changed.
        .library(name: "SQLCipherKit", targets: ["SQLCipherKit"] + parts),
        // Connections, statements, values and keys, and nothing else.
        .library(name: "SQLCipherKitCore", targets: ["SQLCipherKitCore"]),
        // Changesets, the difference of two databases, and copies that are synchronized.
        .library(name: "SQLCipherKitSync", targets: ["SQLCipherKitSync"]),
        // Replication to a folder or an object store.
        .library(name: "SQLCipherKitReplication", targets: ["SQLCipherKitReplication"]),
        // Vectors beside full text: the nearest rows, and search by words and meaning together.
        .library(name: "SQLCipherKitVectors", targets: ["SQLCipherKitVectors"]),
        // The engine's headers for the C sources of an SQLite extension that is compiled into a program.
        .library(name: "SQLiteExtensionHeaders", targets: ["SQLiteExtensionHeaders"]),
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
        // The folder Sources/CSQLCipher makes three targets: both engines share the provider.
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
        // SwiftPM compiles a module's Swift after the C of the targets that the module names, and not after the C of the targets
        // that these name. So CSQLCipher is the headers alone, and the engine is compiled beside all Swift.
        .target(
            name: "CSQLCipherEngine",
            dependencies: engineDependencies,
            path: "Sources/CSQLCipher/Engine",
            exclude: ["ENGINE.md"],
            cSettings: engineSettings,
            linkerSettings: engineLinking),
        .target(name: "CSQLCipher", dependencies: ["CSQLCipherEngine"], exclude: ["Engine", "Provider", "System"]),
        .target(
            name: "SQLCipher",
            dependencies: engineDependencies,
            cSettings: engineSettings + [.define("SQLCIPHERKIT_PLAIN_SYMBOLS")],
            linkerSettings: engineLinking),
        .target(name: "SQLiteExtensionHeaders", dependencies: ["CSQLCipher"]),
        .target(name: "SQLCipherKitCore", dependencies: ["CSQLCipher"]),
        .target(name: "SQLCipherKitConcurrency", dependencies: ["CSQLCipher", "SQLCipherKitCore"]),
        .target(
            name: "SQLCipherKitRecords",
            dependencies: [
                "CSQLCipher", "SQLCipherKitConcurrency", "SQLCipherKitCore",
                .target(name: "SQLCipherKitMacros", condition: .when(traits: ["Macros"])),
            ]),
        // Other forms of words in ten languages.
        .target(name: "CSQLCipherStems", cSettings: isDevelopment ? [.unsafeFlags(["-O2"], .when(configuration: .debug))] : []),
        .target(name: "SQLCipherKitSearch", dependencies: ["CSQLCipher", "CSQLCipherStems", "SQLCipherKitCore"]),
        .target(
            name: "SQLCipherKitFiles",
            dependencies: ["CSQLCipher", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitSearch"]),
        // Re-exports the five above, and has the documentation.
        .target(
            name: "SQLCipherKit",
            dependencies: parts.map { .byName(name: $0) }),
        // Folders and object stores, which the two products that go beyond one device share.
        .target(
            name: "SQLCipherKitStores",
            dependencies: [
                "CSQLCipher", "SQLCipherKitConcurrency", "SQLCipherKitCore",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["S3"])),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["S3"])),
            ]),
        .target(
            name: "SQLCipherKitSync",
            dependencies: [
                "CSQLCipher", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitSearch", "SQLCipherKitStores",
            ]),
        .target(
            name: "SQLCipherKitReplication",
            dependencies: [
                "CSQLCipher", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitFiles", "SQLCipherKitStores",
            ]),
        // Compares a vector with many, on each processor's instructions. It asks the provider which ones there are.
        .target(name: "CSQLCipherVectors", dependencies: ["CSQLCipherProvider"], cSettings: engineSettings),
        .target(
            name: "SQLCipherKitVectors",
            dependencies: [
                "CSQLCipher", "CSQLCipherVectors", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitSearch",
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
                "SQLCipherKitSync",
                "SQLCipherKitVectors",
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
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .target(name: "StoreSupport", dependencies: ["SQLCipherKitStores", "TestSupport"], path: "Tests/StoreSupport"),
        .target(name: "KillPoints", path: "Tests/KillPoints", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "ExtensionSample", dependencies: ["SQLiteExtensionHeaders"], path: "Tests/ExtensionSample"),
        .target(name: "FaultMemory", dependencies: ["CSQLCipher"], path: "Tests/FaultMemory"),
        .target(name: "Faults", dependencies: ["FaultMemory"], path: "Tests/Faults", exclude: ["shim.c"]),
        .target(
            name: "SweepScenarios",
            dependencies: [
                "KillPoints", "SQLCipherKit", "SQLCipherKitCLI", "SQLCipherKitReplication", "SQLCipherKitSync", "TestSupport",
            ],
            path: "Tests/SweepScenarios"),
        .executableTarget(
            name: "FaultDriver",
            dependencies: [
                "CSQLCipher", "FaultMemory", "Faults", "SQLCipherKit", "SQLCipherKitReplication", "SQLCipherKitSync",
                "SweepScenarios",
            ],
            path: "Tests/FaultDriver"),
        // The contract: every public call in every situation. Its tables say what holds each promise.
        .executableTarget(
            name: "Contract",
            dependencies: [
                "FaultMemory", "Faults", "KillPoints", "KitSupport", "SQLCipherKit", "SQLCipherKitReplication", "SQLCipherKitSync",
                "SQLCipherKitVectors", "TestSupport",
            ],
            path: "Tests/Contract", exclude: ["Tables"]),
        .testTarget(name: "ContractTests", dependencies: ["Contract", "TestSupport"]),
        .executableTarget(
            name: "Model", dependencies: ["CSQLCipher", "SQLCipherKit", "SQLCipherKitSync"], path: "Tests/Proofs/Model"),
        .executableTarget(
            name: "CrashStates", dependencies: ["KillPoints", "SQLCipherKit", "SweepScenarios", "TestSupport"],
            path: "Tests/Proofs/CrashStates"),
        .testTarget(name: "CSQLCipherTests", dependencies: ["CSQLCipher", "ProviderProbe", "TestSupport"]),
        // The programs that these tests start are built beside them. As dependencies they would be built for rooms that need none.
        // What the tests of several modules share. It sees no more than those of the lowest.
        .target(
            name: "KitSupport", dependencies: ["SQLCipherKitConcurrency", "SQLCipherKitCore", "TestSupport"], path: "Tests/KitSupport"),
        .testTarget(
            name: "SQLCipherKitCoreTests",
            dependencies: ["CSQLCipher", "KitSupport", "SQLCipherKitConcurrency", "SQLCipherKitCore", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitConcurrencyTests",
            dependencies: ["ExtensionSample", "KitSupport", "SQLCipherKitConcurrency", "SQLCipherKitCore", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitRecordsTests",
            dependencies: ["KitSupport", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitRecords", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitSearchTests",
            dependencies: ["KitSupport", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitSearch", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitFilesTests",
            dependencies: [
                "CSQLCipher", "KitSupport", "SQLCipherKitConcurrency", "SQLCipherKitCore", "SQLCipherKitFiles",
                "SQLCipherKitRecords", "SQLCipherKitSearch", "SQLCipherKitSync", "TestSupport",
            ]),
        .testTarget(
            name: "SQLCipherKitStoresTests", dependencies: ["SQLCipherKit", "SQLCipherKitStores", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitSyncTests",
            dependencies: ["KitSupport", "SQLCipherKit", "SQLCipherKitSync", "StoreSupport", "TestSupport"]),
        .testTarget(
            name: "SQLCipherKitVectorsTests",
            dependencies: [
                "CSQLCipherVectors", "KitSupport", "SQLCipherKit", "SQLCipherKitSync", "SQLCipherKitVectors", "TestSupport",
            ]),
        .executableTarget(
            name: "VectorsExample", dependencies: ["SQLCipherKit", "SQLCipherKitVectors"], path: "Tests/VectorsExample"),
        // What needs several modules together, and the articles.
        .testTarget(
            name: "SQLCipherKitTests",
            dependencies: [
                "ExtensionSample", "KitSupport", "SQLCipherKit", "SQLCipherKitReplication", "SQLCipherKitSync", "SQLCipherKitVectors",
                "TestSupport",
            ]),
        .executableTarget(
            name: "ReplicaProof", dependencies: ["SQLCipherKit", "SQLCipherKitReplication"], path: "Tests/Proofs/ReplicaProof"),
        .testTarget(
            name: "SQLCipherKitReplicationTests",
            dependencies: [
                "ReplicaProof", "SQLCipherKit", "SQLCipherKitReplication", "SQLCipherKitSync", "StoreSupport", "TestSupport",
            ]),
        .target(name: "LibFuzzer", path: "Tests/LibFuzzer"),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "LibFuzzer", "SQLCipherKit", "SQLCipherKitCLI", "SQLCipherKitReplication", "SQLCipherKitStores", "SQLCipherKitSync",
                "SQLCipherKitVectors", "TestSupport",
            ],
            exclude: ["Findings", "Seeds"]),
        .testTarget(name: "CLITests", dependencies: [
            "KitSupport", "SQLCipherKit", "SQLCipherKitCLI", "SQLCipherKitReplication", "SQLCipherKitSync", "SQLCipherKitVectors", "Tool",
            "TestSupport",
        ]),
    ]
}

if !hasAll {
    package.products.removeAll { $0.name == "SQLCipher" }
    package.targets.removeAll { $0.name == "SQLCipher" }
} else if isDevelopment {
    package.targets += [
        .executableTarget(name: "BothEngines", dependencies: ["SQLCipher", "SQLCipherKit"], path: "Tests/BothEngines"),
        .executableTarget(name: "PlainSweep", dependencies: ["KillPoints", "SQLCipher"], path: "Tests/PlainSweep"),
        .executableTarget(name: "Soak", dependencies: ["SQLCipherKit"], path: "Tests/Proofs/Soak"),
        // What users of other libraries do, one program for each row of the articles on moving here.
        .testTarget(name: "PortTests", dependencies: ["KitSupport", "SQLCipherKit", "SQLCipherKitSync", "TestSupport"]),
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

// Each compiler process reads all that a module imports and names. By default one has 25 files, here as many as make two processes.
if isDevelopment {
    for target in package.targets where target.type != .system {
        let settings = ["-driver-batch-size-limit", "1000"]
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(settings, .when(configuration: .debug))]
    }
}

// As in the product: who names SQLCipherKit names what it re-exports.
for target in package.targets where target.name != "SQLCipherKit" {
    let names = target.dependencies.compactMap { if case .byNameItem(let name, _) = $0 { name } else { nil } }
    if names.contains("SQLCipherKit") { target.dependencies += parts.map { .byName(name: $0) } }
}

// SQLCIPHERKIT_TESTS names the only tests and programs that are wanted, as scripts/try does: they and what they need are all there is
// to build. What has been built for another choice stays built.
if isDevelopment, let wanted = Context.environment["SQLCIPHERKIT_TESTS"] {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var needed: Set<String> = [], next = wanted.split(separator: ",").map(String.init)
    while let name = next.popLast() {
        guard let target = targets[name], needed.insert(name).inserted else { continue }
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): next.append(name)
            default: break
            }
        }
    }
    // SwiftPM leaves out a package only if something uses it behind a trait that is off.
    let others = package.targets.filter { !needed.contains($0.name) }.flatMap(\.dependencies).filter {
        if case .productItem(_, _, _, .some) = $0 { true } else { false }
    }
    for target in package.targets where needed.contains(target.name) && target.type == .test { target.dependencies += others }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { $0.name != "sqlcipherkit" || !needed.contains("Tool") }
}
