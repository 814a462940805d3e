// swift-tools-version: 6.1
import PackageDescription

// One executable per library, so that two SQLites never meet in a process. GRDB's manifest decides which SQLite it is built on,
// and a package graph holds a package once: SQLCIPHERKIT_BENCHMARK chooses the graph. scripts/bench puts GRDB where this looks.
let onSystem = Context.environment["SQLCIPHERKIT_BENCHMARK"] == "system"

var dependencies: [Package.Dependency] = [
    .package(name: "GRDB", path: "../../.build/benchmarks/\(onSystem ? "system" : "engine")/GRDB.swift")
]
var targets: [Target] = [
    .target(name: "Workloads"),
    .target(name: "Harness"),
    .executableTarget(
        name: "BenchGRDB",
        dependencies: ["Workloads", "Harness", .product(name: "GRDB", package: "GRDB")],
        swiftSettings: onSystem ? [] : [.define("KEYED")]),
]
if !onSystem {
    dependencies.append(.package(name: "SQLCipherKit", path: "../.."))
    targets += [
        .executableTarget(
            name: "BenchC",
            dependencies: ["Workloads", .product(name: "SQLCipher", package: "SQLCipherKit")]),
        .executableTarget(
            name: "BenchOurs",
            dependencies: ["Workloads", "Harness", .product(name: "SQLCipherKit", package: "SQLCipherKit")]),
    ]
}

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: dependencies,
    targets: targets,
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
