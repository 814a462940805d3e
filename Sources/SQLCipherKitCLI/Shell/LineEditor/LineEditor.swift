import Foundation

/// What a line of input is.
enum LineInput: Equatable {
    case line(String)
    /// Control-C: what was begun is given up.
    case interrupted
    case end
}

/// Where the shell's lines come from.
protocol LineSource: AnyObject {
    func next(_ prompt: String) throws -> LineInput
}

/// Standard input that is no terminal.
final class PlainLines: LineSource {
    func next(_ prompt: String) throws -> LineInput {
        guard let line = readLine() else { return .end }
        return .line(line)
    }
}

/// Lines typed on a terminal: with the arrow keys, the keys of Emacs, and a history. A line longer than the terminal is wide is
/// scrolled sideways. The terminal is one that gives keys (``TerminalMode``).
final class LineEditor: LineSource {
    let history: History
    private let descriptor = STDIN_FILENO
    private var buffer = LineBuffer()
    private var prompt = ""

    init(_ history: History) { self.history = history }

    func next(_ prompt: String) throws -> LineInput {
        self.prompt = prompt
        buffer = LineBuffer()
        history.rewind()
        try Output.flush()
        return try TerminalMode.withoutSignals(descriptor) {
            draw()
            while true {
                if let input = take(Keystroke.read(descriptor)) {
                    buffer.moveToEnd()
                    draw()
                    Output.write(input == .interrupted ? "^C\n" : "\n", to: STDOUT_FILENO)
                    return input
                }
                // What is pasted is shown when all of it is there.
                if !Keystroke.isWaiting(descriptor) { draw() }
            }
        }
    }

    /// What a key does; the input if it ends the line.
    private func take(_ key: Keystroke) -> LineInput? {
        switch key {
        case .text(let text): buffer.insert(text)
        case .tab: buffer.insert("    ")
        case .enter: return .line(buffer.text)
        case .interrupt: return .interrupted
        case .hangUp: return .end
        case .endOfInput:
            if buffer.characters.isEmpty { return .end }
            buffer.deleteForward()
        case .backspace: buffer.deleteBackward()
        case .delete: buffer.deleteForward()
        case .left: buffer.move(by: -1)
        case .right: buffer.move(by: 1)
        case .wordLeft: buffer.moveToWordStart()
        case .wordRight: buffer.moveToWordEnd()
        case .home: buffer.moveToStart()
        case .end: buffer.moveToEnd()
        case .up: if let text = history.previous(buffer.text) { buffer = LineBuffer(text) }
        case .down: if let text = history.next() { buffer = LineBuffer(text) }
        case .deleteToEnd: buffer.deleteToEnd()
        case .deleteToStart: buffer.deleteToStart()
        case .deleteWord: buffer.deleteWordBackward()
        case .clearScreen: Output.write("\u{1b}[H\u{1b}[2J", to: STDOUT_FILENO)
        case .other: break
        }
        return nil
    }

    private func draw() {
        let room = max(8, Terminal.width(STDOUT_FILENO) - prompt.columns - 1)
        // From the cursor back, as much as there is room for; then on behind it.
        var start = buffer.cursor
        var before = 0
        while start > 0, before + buffer.characters[start - 1].columns <= room {
            start -= 1
            before += buffer.characters[start].columns
        }
        var end = buffer.cursor
        var width = before
        while end < buffer.characters.count, width + buffer.characters[end].columns <= room {
            width += buffer.characters[end].columns
            end += 1
        }
        let column = prompt.columns + before
        let back = column > 0 ? "\r\u{1b}[\(column)C" : "\r"
        Output.write("\r" + prompt + String(buffer.characters[start..<end]) + "\u{1b}[K" + back, to: STDOUT_FILENO)
    }
}
