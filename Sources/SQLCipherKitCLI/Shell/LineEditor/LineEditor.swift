import Foundation

/// Lines typed on a terminal, with the arrow keys, the keys of Emacs, a history with search, and completion. A line that is wider
/// than the terminal scrolls sideways, and several lines, from the history or pasted, show `⏎` between them. What is pasted is kept
/// byte for byte, and shown without what the terminal would act on. The terminal must deliver single keys (``TerminalMode``).
final class LineEditor: LineSource {
    let history: History
    /// Finds what the tab key completes, from the text before the cursor.
    var completer: ((_ before: String) -> Completion)?
    private let descriptor = Invocation.current.input
    private let screen = Invocation.current.output.standard
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
                    Output.write(input == .interrupted ? "^C\n" : "\n", to: screen)
                    return input
                }
                // Pasted text is shown when all of it has arrived.
                if !Keystroke.isWaiting(descriptor) { draw() }
            }
        }
    }

    /// Does what a key stands for. Returns the input if the key ends the line.
    private func take(_ key: Keystroke) -> LineInput? {
        switch key {
        case .text(let text): buffer.insert(text)
        case .paste(let bytes): paste(bytes)
        case .tab: complete()
        case .search: return search()
        case .enter: return .line(Array(buffer.text.utf8))
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
        case .clearScreen: Output.write("\u{1b}[H\u{1b}[2J", to: screen)
        case .cancel, .other: break
        }
        return nil
    }

    /// Terminals send line feeds as carriage returns: these stay what they are only if there are line feeds as well.
    private func paste(_ bytes: [UInt8]) {
        let lines = bytes.contains(0x0a) ? bytes : bytes.map { $0 == 0x0d ? 0x0a : $0 }
        guard let text = String(validating: lines, as: UTF8.self) else { return Output.write("\u{07}", to: screen) }
        buffer.insert(text)
    }

    /// Completes the text before the cursor as far as it is unambiguous, or else lists the candidates.
    private func complete() {
        let before = String(buffer.characters[..<buffer.cursor])
        // A terminal that does not mark what is pasted sends its tabs as keys.
        if Keystroke.isWaiting(descriptor) { return buffer.insert("\t") }
        // Indentation.
        if before.allSatisfy(\.isWhitespace) { return buffer.insert("    ") }
        guard let completion = completer?(before) else { return }
        switch completion.candidates.count {
        case 0: Output.write("\u{07}", to: screen)
        case 1:
            let candidate = completion.candidates[0]
            buffer.replaceBackward(completion.length, with: candidate.text + (candidate.isWhole ? " " : ""))
        default:
            let start = completion.commonStart
            if start.count > completion.length {
                buffer.replaceBackward(completion.length, with: start)
            } else {
                list(completion.candidates.map(\.shown.onOneLine))
            }
        }
    }

    /// Shows candidates below the line, in columns.
    private func list(_ texts: [String]) {
        let limit = 200
        let shown = texts.prefix(limit)
        let width = (shown.map(\.columns).max() ?? 0) + 2
        let columns = max(1, Terminal.width(screen) / width)
        var text = "\n"
        for (index, entry) in shown.enumerated() {
            let isLast = (index + 1) % columns == 0 || index == shown.count - 1
            text += isLast ? entry + "\n" : entry.padded(toColumns: width)
        }
        if texts.count > limit { text += "and \((texts.count - limit).grouped) more\n" }
        Output.write(text, to: screen)
    }

    /// Searches the history for a text as it is typed, the latest entry first; control-R finds the one before.
    private func search() -> LineInput? {
        let (line, usual) = (buffer, prompt)
        defer { prompt = usual }
        var wanted = ""
        var place = history.entries.count
        func look(from start: Int) {
            guard let found = history.entries.prefix(start).lastIndex(where: { $0.localizedCaseInsensitiveContains(wanted) }) else {
                return Output.write("\u{07}", to: screen)
            }
            place = found
            buffer = LineBuffer(history.entries[found])
        }
        while true {
            prompt = "(search) \(wanted): "
            if !Keystroke.isWaiting(descriptor) { draw() }
            let key = Keystroke.read(descriptor)
            switch key {
            case .text(let text):
                wanted += text
                look(from: min(place + 1, history.entries.count))
            case .backspace:
                wanted = String(wanted.dropLast())
                if wanted.isEmpty { (buffer, place) = (line, history.entries.count) } else { look(from: history.entries.count) }
            case .search: if !wanted.isEmpty { look(from: place) }
            case .cancel, .interrupt:
                buffer = line
                return nil
            default:
                // The entry found becomes the line, and the key acts on it.
                history.move(to: place)
                return take(key)
            }
        }
    }

    private func draw() {
        let room = max(8, Terminal.width(screen) - prompt.columns - 1)
        let shown = buffer.characters.map(\.asTyped)
        // As much as there is room for before the cursor, then after it.
        var start = buffer.cursor
        var before = 0
        while start > 0, before + shown[start - 1].columns <= room {
            start -= 1
            before += shown[start].columns
        }
        var end = buffer.cursor
        var width = before
        while end < shown.count, width + shown[end].columns <= room {
            width += shown[end].columns
            end += 1
        }
        let column = prompt.columns + before
        let back = column > 0 ? "\r\u{1b}[\(column)C" : "\r"
        Output.write("\r" + prompt + String(shown[start..<end]) + "\u{1b}[K" + back, to: screen)
    }
}

extension Character {
    /// The character as the line shows it: a picture for one that the terminal would act on.
    fileprivate var asTyped: Character {
        guard let scalar = unicodeScalars.first, unicodeScalars.contains(where: \.actsOnTerminal) else { return self }
        switch scalar.value {
        case 0x0a, 0x0d: return "⏎"
        case 0..<0x20: return Unicode.Scalar(0x2400 + scalar.value).map(Character.init) ?? "�"
        default: return "�"
        }
    }
}
