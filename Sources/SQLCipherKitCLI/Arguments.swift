import ToolStart

/// The tool's command line.
enum Arguments {
    /// The program's name and its arguments. Swift's own list needs `/proc` on Linux; this one works without it.
    static let all: [String] = {
        guard let values = toolstart_arguments() else { return CommandLine.arguments }
        var all: [String] = []
        while let value = values[all.count] { all.append(String(cString: value)) }
        return all
    }()
}
