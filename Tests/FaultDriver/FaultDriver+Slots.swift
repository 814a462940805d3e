import Foundation
import SQLCipherKit
import SweepScenarios

/// Operations on key slots in a process that tests kill.
extension FaultDriver {
    static func runSlots(_ action: String, _ path: String, _ arguments: [String]) throws {
        let location = DatabaseLocation.file(path)
        var slots = try KeySlots.unlock(.passphrase(arguments[0]), of: location)
        ready()
        switch action {
        case "slots-add":
            // Adds slots whose labels are a prefix and a number.
            for number in 0..<(Int(arguments[2]) ?? 0) {
                try slots.add(.passphrase(arguments[1]), label: "\(arguments[1]) \(number)", derivation: .quick)
            }
        case "slots-churn":
            // Adds and revokes until the process is killed.
            while true {
                try slots.add(.passphrase("churn"), label: "churn", derivation: .quick)
                try slots.revoke("churn")
            }
        case "slots-rotate":
            let db = try Connection(location, key: .slots(slots))
            try slots.rotateKey(
                of: db, keeping: ["first": .passphrase(arguments[0])], droppingOthers: true,
                mode: arguments.contains("in-place") ? .inPlace : .newFile)
        default:
            throw DatabaseError(message: "no action \(action)")
        }
    }
}
