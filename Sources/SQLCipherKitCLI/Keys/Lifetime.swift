import ArgumentParser

/// A duration such as `90s`, `15m`, `12h` or `30d`.
struct Lifetime: ExpressibleByArgument {
    let seconds: Double

    init(seconds: Double) { self.seconds = seconds }

    init?(argument: String) {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last.flatMap({ units[$0] }), let count = UInt32(argument.dropLast()), count > 0 else {
            return nil
        }
        seconds = Double(count) * unit
    }

    var defaultValueDescription: String { seconds < 3600 ? "\(Int(seconds / 60))m" : "\(Int(seconds / 3600))h" }
}
