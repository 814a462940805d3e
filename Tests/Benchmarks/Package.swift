// swift-tools-version: 6.1
import PackageDescription

// One executable per library, so that two SQLites never meet in a process. GRDB's manifest decides which SQLite it is built on,
// and a package graph holds a package once: SQLCIPHERKIT_BENCHMARK chooses the graph, `engine` unless set, `system`, `search`,
// `changes`, `vectors`, `replica`, or `replica-s3`, which brings an HTTP client. scripts/bench puts GRDB where the first two look;
// the others need none.
let graph = Context.environment["SQLCIPHERKIT_BENCHMARK"] ?? "engine"

let kit = Package.Dependency.package(
    name: "SQLCipherKit", path: "../..", traits: graph == "replica-s3" ? ["S3", .defaults] : [.defaults])
let engine = Target.Dependency.product(name: "SQLCipher", package: "SQLCipherKit")
let layer = Target.Dependency.product(name: "SQLCipherKit", package: "SQLCipherKit")

var dependencies: [Package.Dependency] = graph == "system" ? [] : [kit]
var targets: [Target]
if graph == "search" {
    targets = [
        .executableTarget(name: "BenchFTS5", dependencies: [engine]),
        .executableTarget(name: "BenchSearch", dependencies: [layer]),
    ]
} else if graph == "changes" {
    targets = [.executableTarget(
            name: "BenchChanges", dependencies: [layer, .product(name: "SQLCipherKitSync", package: "SQLCipherKit")])]
} else if graph == "vectors" {
    targets = [.executableTarget(
            name: "BenchVectors", dependencies: [layer, .product(name: "SQLCipherKitVectors", package: "SQLCipherKit")])]
} else if graph.hasPrefix("replica") {
    let replication = Target.Dependency.product(name: "SQLCipherKitReplication", package: "SQLCipherKit")
    targets = [
        .executableTarget(
            name: "BenchReplica", dependencies: [layer, replication], swiftSettings: graph == "replica-s3" ? [.define("S3")] : [])
    ]
} else {
    dependencies.append(.package(name: "GRDB", path: "../../.build/benchmarks/\(graph == "system" ? "system" : "engine")/GRDB.swift"))
    targets = [
        .target(name: "Workloads"),
        .target(name: "Harness"),
        .executableTarget(
            name: "BenchGRDB",
            dependencies: ["Workloads", "Harness", .product(name: "GRDB", package: "GRDB")],
            swiftSettings: graph == "system" ? [] : [.define("KEYED")]),
    ]
    if graph != "system" {
        targets += [
            .executableTarget(name: "BenchC", dependencies: ["Workloads", engine]),
            .executableTarget(name: "BenchOurs", dependencies: ["Workloads", "Harness", layer]),
        ]
    }
}

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: dependencies,
    targets: targets,
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
