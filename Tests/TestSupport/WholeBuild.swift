import Foundation

/// A build with `SQLCIPHERKIT_DEVELOPMENT=all`, as `scripts/test --part engines` makes it. Others have neither the product
/// SQLCipher nor the program with both engines, which cost a second compilation of the engine.
public enum WholeBuild {
    public static let isHere = ProcessInfo.processInfo.environment["SQLCIPHERKIT_DEVELOPMENT"] == "all"
}
