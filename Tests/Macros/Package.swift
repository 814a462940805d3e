// swift-tools-version: 6.1
import PackageDescription

// The tests of @Record: a package of their own, as the trait that has the macro brings swift-syntax, which builds for minutes.
// scripts/test --part macros builds it once, in debug. The macro's source is a target here as well, behind a link, so that its
// expansions can be looked at: a macro's own target cannot be imported from another package.
let package = Package(
    name: "Macros",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "SQLCipherKit", path: "../..", traits: ["Macros", .defaults]),
        .package(url: "https://github.com/swiftlang/swift-syntax", "600.0.1"..<"604.0.0"),
    ],
    targets: [
        .target(
            name: "ExpansionSource",
            dependencies: [
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
            ],
            exclude: ["Plugin.swift"],
            swiftSettings: [.define("Macros")]),
        // A record that other files use: scripts/workshop/check-macros compiles them in every order.
        .target(name: "SeparateFiles", dependencies: [.product(name: "SQLCipherKit", package: "SQLCipherKit")]),
        .testTarget(
            name: "MacroTests",
            dependencies: [
                "ExpansionSource", .product(name: "SQLCipherKit", package: "SQLCipherKit"),
                .product(name: "SwiftParser", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
