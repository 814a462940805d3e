// swift-tools-version: 6.1
import PackageDescription

// This project's engine under SQLite's plain symbol names, as the package and module that GRDB's SQLCipher option expects.
let package = Package(
    name: "SQLCipher.swift",
    products: [.library(name: "SQLCipher", targets: ["SQLCipher"])],
    targets: [
        .systemLibrary(
            name: "LibTomCrypt",
            pkgConfig: "libtomcrypt",
            providers: [.apt(["libtomcrypt-dev"]), .brew(["libtomcrypt"])]),
        .target(
            name: "SQLCipher",
            dependencies: ["LibTomCrypt"],
            cSettings: [.define("SQLCIPHERKIT_PLAIN_SYMBOLS")],
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))]),
    ],
    cLanguageStandard: .gnu11
)
