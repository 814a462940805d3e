import Foundation
import NotesKit
import NotesWeb
import SQLCipherKit

let usage = """
    usage: notes FILE COMMAND

      add TITLE [--in FOLDER] [--tag TAG ...]   a note with the text from standard input
      list                                      the folders, each with its newest notes
      search WORD ... [--in FOLDER]             the notes that fit best
      show ID                                   a note and the names of its attachments
      attach ID PATH                            adds a file to a note
      pin ID                                    shows a note before the others
      delete ID                                 deletes a note; restore ID brings it back, discard ID removes it for good
      sync FOLDER                               exchanges changes with other copies through a folder
      watch                                     the folders, now and after each change
      import PATH [--in FOLDER]                 adds the Markdown and text files of a folder
      serve [--port PORT] [--replica PATH] [--sync PATH] [--name NAME] [--beside URL]
                                                the notebook in a browser, on this machine alone; with an encrypted
                                                replica, and a folder through which copies exchange changes all the time;
                                                with a name for this copy, and the address of another one to open beside it

    Ends with 1 if it has not done that, as when nothing was found, and with 2 for a command that it does not know.
    The key is a passphrase in the file that NOTES_KEY_FILE names, which only its owner may read.
    """

struct Usage: Error {}

/// The reason why a command has not done what it was given to do.
struct Failure: Error, CustomStringConvertible {
    let description: String

    static func missing<T>(_ note: T?) throws -> T {
        guard let note else { throw Failure(description: "there is no such note") }
        return note
    }
}

/// The words of a command, and its options.
struct Words {
    var words: [String] = []
    var options: [String: [String]] = [:]

    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            if argument.hasPrefix("--") {
                let known = ["--in", "--tag", "--port", "--replica", "--sync", "--name", "--beside"]
                guard known.contains(argument), let value = arguments.next() else { throw Usage() }
                options[argument, default: []].append(value)
            } else {
                words.append(argument)
            }
        }
    }

    mutating func next() throws -> String {
        guard !words.isEmpty else { throw Usage() }
        return words.removeFirst()
    }

    mutating func id() throws -> ID {
        guard let id = ID(try next()) else { throw Usage() }
        return id
    }
}

func key() throws -> DatabaseKey {
    guard let file = ProcessInfo.processInfo.environment["NOTES_KEY_FILE"] else { throw Usage() }
    // As the package's tool reads it: the line break at its end is not part of the key.
    let source: KeySource = .file(file)
    guard let key = try source.key() else { throw Failure(description: "there is no key: \(source) is missing") }
    return key
}

func show(_ shelves: [Notebook.Shelf]) {
    for shelf in shelves {
        print("\(shelf.folder.name) (\(shelf.count))")
        for each in shelf.newest { print("  \(each.note.id)  \(each.note.title)\(each.tags.map { " #" + $0.name }.joined())") }
    }
}

func serve(_ path: String, _ words: Words) async throws {
    var settings = NotesServer.Settings(path: path, key: try key())
    if let port = words.options["--port"]?.last {
        guard let number = Int(port), 0...65535 ~= number else { throw Usage() }
        settings.port = number
    }
    settings.replica = words.options["--replica"]?.last
    settings.shared = words.options["--sync"]?.last
    settings.device = words.options["--name"]?.last
    settings.beside = words.options["--beside"]?.last
    try await NotesServer.run(settings)
}

func run() async throws {
    var words = try Words(CommandLine.arguments.dropFirst())
    let path = try words.next(), command = try words.next()
    if command == "serve" { return try await serve(path, words) }
    let notebook = try await Notebook(at: path, key: key())
    switch command {
    case "add":
        let text = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
        let note = try await notebook.add(
            try words.next(), text, folder: words.options["--in"]?.last, tags: words.options["--tag"] ?? [])
        print(note.id)
    case "list": show(try await notebook.shelves())
    case "search":
        let hits = try await notebook.search(words.words.joined(separator: " "), in: words.options["--in"]?.last)
        if hits.isEmpty { throw Failure(description: "nothing was found") }
        for hit in hits { print("\(hit.note.id)  \(hit.note.title)\n  \(hit.excerpt)") }
    case "show":
        let note = try await Failure.missing(notebook.note(try words.id()))
        if note.deleted != nil { throw Failure(description: "the note is deleted: restore \(note.id) brings it back") }
        print("\(note.title)\n\n\(note.body)")
        for attachment in try await notebook.attachments(of: note) {
            print("[\(attachment.name), \(attachment.content.count) bytes]")
        }
        for version in try await notebook.conflict(of: note.id) where ![note.title, note.body].contains(version.text) {
            print("\n[the \(version.field) on \(version.device ?? "another copy"):]\n\(version.text)")
        }
    case "attach":
        let id = try await Failure.missing(notebook.note(try words.id())).id
        let file = URL(fileURLWithPath: try words.next())
        try await notebook.attach(Data(contentsOf: file), named: file.lastPathComponent, to: id)
    case "pin": _ = try await Failure.missing(notebook.save(.init(pinned: true), to: try words.id()))
    case "delete": _ = try await Failure.missing(notebook.save(.init(deleted: true), to: try words.id()))
    case "restore": _ = try await Failure.missing(notebook.save(.init(deleted: false), to: try words.id()))
    case "discard": _ = try await Failure.missing(notebook.discard(try words.id()) ? true : nil)
    case "sync":
        let changes = try await notebook.synchronize(through: try words.next())
        print("\(changes.received) changes received, \(changes.sent) sent")
    case "import":
        let count = try await notebook.importFiles(below: try words.next(), into: words.options["--in"]?.last ?? "Imported")
        if count == 0 { throw Failure(description: "the folder has no text in Markdown or text files") }
        print("\(count) notes imported")
    case "watch":
        for try await shelves in notebook.shelfChanges() {
            print("---")
            show(shelves)
        }
    default: throw Usage()
    }
    try await notebook.close()
}

do { try await run() } catch {
    FileHandle.standardError.write(Data("\(error is Usage ? usage : "notes: \(error)")\n".utf8))
    exit(error is Usage ? 2 : 1)
}
