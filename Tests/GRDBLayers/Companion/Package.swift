// swift-tools-version: 6.1
import PackageDescription

// A library that depends on GRDB as it is published, as others do.
let package = Package(
    name: "Companion",
    platforms: [.macOS(.v15)],
    products: [.library(name: "Companion", targets: ["Companion"])],
    dependencies: [.package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0")],
    targets: [.target(name: "Companion", dependencies: [.product(name: "GRDB", package: "GRDB.swift")])],
    swiftLanguageModes: [.v6]
)
