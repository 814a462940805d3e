import SQLCipherKit

extension DotCommand {
    private static let switches = ["on": true, "off": false, "yes": true, "no": false, "1": true, "0": false]

    /// Changes one of the shell's settings.
    /// - Returns: false if this is no command for a setting, or its words are wrong.
    func set(_ words: [String], _ rest: String, _ shell: Shell) throws -> Bool {
        func isOn(_ use: (Bool) -> Void) -> Bool {
            guard words.count == 1, let isOn = Self.switches[words[0].lowercased()] else { return false }
            use(isOn)
            return true
        }
        switch (self, words.count) {
        case (.timer, _): return isOn { shell.showsTime = $0 }
        case (.headers, _): return isOn { shell.layout.hasHeader = $0 }
        case (.echo, _): return isOn { shell.echoes = $0 }
        case (.bail, _): return isOn { shell.stopsAtErrors = $0 }
        case (.changes, _): return isOn { shell.showsChanges = $0 }
        case (.nullvalue, 0), (.nullvalue, 1): shell.layout.null = words.first?.unquoted ?? ""
        case (.separator, 1), (.separator, 2):
            shell.layout.separator = words[0].unquoted.unescaped
            shell.layout.rowSeparator = words.count == 2 ? words[1].unquoted.unescaped : nil
        case (.width, _):
            let widths = words.map { Int($0) }
            guard widths.allSatisfy({ $0.map { abs($0) <= 10_000 } ?? false }) else { return false }
            shell.layout.widths = widths.compactMap(\.self)
        case (.mode, 0): Output.line("the format is \(shell.format.rawValue); there are \(OutputFormat.names)")
        case (.mode, 1), (.mode, 2):
            guard let format = OutputFormat(argument: words[0]) else {
                throw Failure("there is no format \(words[0]): there are \(OutputFormat.names)", status: .usage)
            }
            guard words.count == 1 || format == .insert else { return false }
            if format != shell.format { (shell.layout.separator, shell.layout.rowSeparator) = (nil, nil) }
            shell.format = format
            if words.count == 2 { shell.layout.table = words[1].unquoted }
        case (.wide, 1):
            guard let wide = Output.Wide(rawValue: words[0]) else { return false }
            Output.wide = wide
        case (.pager, 1...): Output.pager = words == ["on"] ? Pager.usual : words == ["off"] ? nil : rest
        case (.show, 0): show(shell)
        default: return false
        }
        return true
    }

    private func show(_ shell: Shell) {
        func isOn(_ value: Bool) -> String { value ? "on" : "off" }
        let layout = shell.layout
        let settings: [(DotCommand, String)] = [
            (.bail, isOn(shell.stopsAtErrors)), (.changes, isOn(shell.showsChanges)), (.echo, isOn(shell.echoes)),
            (.headers, isOn(layout.hasHeader)), (.mode, shell.format.rawValue),
            (.nullvalue, layout.null.map { "\"\($0)\"" } ?? "the format's own"),
            (.open, shell.path), (.pager, Output.pager ?? "off"),
            (.separator, layout.separator.map { "\"\($0.onOneLine)\"" } ?? "the format's own"), (.timer, isOn(shell.showsTime)),
            (.wide, Output.wide.rawValue), (.width, layout.widths.map(String.init).joined(separator: " ")),
        ]
        for (command, value) in settings { Output.line(command.rawValue.padded(toColumns: 11) + value.onOneLine) }
    }
}
