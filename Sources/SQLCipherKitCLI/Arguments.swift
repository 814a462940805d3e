import ToolStart

/// What the tool was called with.
enum Arguments {
    /// The program's name, and its arguments; also where no `/proc` is mounted, from which Swift's own list comes on Linux.
    static let all: [String] = {
        guard let values = toolstart_arguments() else { return CommandLine.arguments }
        var all: [String] = []
        while let value = values[all.count] { all.append(String(cString: value)) }
        return all
    }()
}
