import Foundation
import Testing
import TestSupport

/// One rule holds for all that writes, renames, sends or acknowledges a statement about a database: first the disk has what it
/// states. These are all functions in the sources that write, rename or remove a file, send an object to a store, or flush a
/// database. A function that is not in the list fails the test, and so does one that begins to make another of these calls.
@Suite struct DurableStatementTests {
    private enum Rule {
        /// These words follow each other in the function: usually the flush, and then the statement.
        case order([String])
        /// The words follow each other in another function, through which all callers pass.
        case passes(String, [String])
        /// The reason why nothing is stated about a database.
        case statesNothing(String)
    }

    private static let places: [String: (calls: String, rule: Rule)] = [
        // Whole files.
        "Schema+Checkpoint.makeDurable": ("sqlcipherkit_flush", .order(["sqlcipherkit_flush(", "flushFolder("])),
        "AtomicFile.init": ("O_CREAT O_RDWR", .statesNothing("the file is new and has no name of a database")),
        "AtomicFile.flush": ("O_RDWR", .statesNothing("this is the flush")),
        "AtomicFile.publish": ("rename", .order(["st_size > 0", "removeFiles(", "rename(temporaryPath, path)", "flushFolder("])),
        "AtomicFile.removeLocked": ("unlink", .statesNothing("the file is empty")),
        "AtomicFile.removeFiles": ("unlink", .statesNothing("the file has no name of a database")),
        "AtomicFile.renameExclusively": (
            "O_CREAT O_RDWR link rename sqlcipherkit_rename_exclusively unlink",
            .passes("AtomicFile.publish", ["renameExclusively(", "flushFolder("])),
        "SystemFile.open": ("O_CREAT O_RDWR", .statesNothing("it opens a file for its callers")),
        "SystemFile.write": ("pwrite", .statesNothing("it writes for its callers")),
        "SystemFile.replace": (
            "for: .creating rename unlink", .order(["file.write(", "file.flush()", "rename(new, path)", "flushFolder("])),
        "SystemFile.init": ("O_CREAT O_RDWR", .order(["O_CREAT", "flushFolder("])),
        "SystemFile.unlock": ("unlink", .order(["flushFolder(", "unlink(path)"])),
        "DatabaseFile.prepare": ("FileManager.default.createDirectory", .statesNothing("a folder")),
        "DatabaseFile.remove": ("unlink", .statesNothing("the file is new and is given up")),
        "FileProtection.set": ("FileManager.default.setAttributes", .statesNothing("the class of protection")),
        // Copies, conversions and changes of key.
        "DatabaseRewrite.replace": (
            "publish rewrite.write unlink",
            .order(["file.flush(like: original)", "unlink(path + suffix)", "flushFolder(of: path)", "FileNotes.carry(",
                "file.publish("])),
        "RecoveryCopy.writeRecoveryCopy": ("makeDurable publish", .order(["makeDurable()", "file.flush(", "file.publish("])),
        "Schema+Backup.copy": ("rewrite.write", .statesNothing("a temporary file, from which a transaction restores")),
        "Schema+Backup.copyPages": ("publish", .order(["requireIntact(", "file.flush()", "file.publish("])),
        "Schema+Backup.copyRows": ("publish rewrite.write", .order(["file.flush()", "file.publish("])),
        "DatabaseConverter+EncryptOnce.file": (
            "OwnFile.replace", .passes("DatabaseConverter+EncryptOnce.encryptOnce", ["encrypt(fileAt: path", "mark.set()"])),
        "DatabaseConverter+Salvage.salvage": (
            "publish", .passes("DatabaseConverter+Salvage.salvage", ["file.flush(like: original)", "try publish()"])),
        "SalvagedOpening.openOrSalvage": (
            "publish rename unlink", .order(["try keep(path", "unlink(path + suffix)", "flushFolder(of: path)", "file.publish("])),
        "DamagedFileCopy.begin": ("O_WRONLY write", .statesNothing("the copy has no name yet")),
        "DamagedFileCopy.copy": ("O_CREAT O_WRONLY write", .statesNothing("the copy has no name yet")),
        "DamagedFileCopy.keep": ("O_RDWR rename unlink", .order(["AtomicFile.sync(file)", "rename(", "flushFolder(of: name)"])),
        "Erasure.run": ("unlink", .order(["if isLogged", #"unlink(path + "-journal")"#, "requireItsPlace()"])),
        "Erasure.emptyLog": ("O_RDWR", .order(["checkpoint(.truncate)", "AtomicFile.sync(file)"])),
        // Notes of moved rows.
        "Schema+MoveRows.move": (
            "makeDurable",
            .order(["target.makeDurable()", #"INSERT INTO \(raw: source"#, "source.makeDurable()", "arrive(move)",
                "forget(move)"])),
        "Schema+MoveRows.finish": ("makeDurable", .order(["arrive(move)", "source.makeDurable()", #"DELETE FROM \(raw: target"#])),
        "Schema+MoveRows.forget": (
            "makeDurable",
            .order(["target.makeDurable()", "dropRows(move)", "source.makeDurable()", #"DELETE FROM \(raw: target"#])),
        // Key slots: new slots hold the former key as well until the database has the new one.
        "KeySlots.create": ("write(try", .order(["setSlotMark(", "write(try", "noteSeen("])),
        "KeySlots.edit": ("write(try", .order(["setSlotMark(table)", "write(try", "db.commit()", "noteSeen("])),
        "KeySlots+Rotation.rotateKey": ("write(try", .order(["setPrevious(before.key", "write(try table", "before.replaceKey("])),
        "KeySlots+Rotation.replaceKey": (
            "makeDurable write(bytes)",
            .order(["db.main.replaceKey(", "makeDurable()", "table.previous = nil", "write(bytes)", "setSlotMark(", "noteSeen("])),
        "KeySlots+Unlocking.noteSeen": ("makeDurable write(bytes)", .order(["makeDurable()", "write(bytes)"])),
        "SlotFile.replace": (
            "O_CREAT O_WRONLY rename unlink", .order(["AtomicFile.sync(file)", "rename(temporary, path)", "flushFolder()"])),
        "SlotFile.remove": ("unlink", .order(["unlink(path)", "flushFolder()"])),
        "SlotFile.update": ("unlink", .statesNothing("a lock file")),
        "SlotFile.removeRemains": ("O_RDWR unlink", .statesNothing("a file without a name of slots")),
        "SlotFile.shareLock": ("O_RDWR", .statesNothing("a lock file")),
        "SlotFile.lock": ("O_CREAT O_RDWR", .statesNothing("a lock file")),
        "SlotFile.systemWrite": ("write", .passes("SlotFile.replace", ["systemWrite(", "AtomicFile.sync(file)"])),
        // Replicas and their followers.
        "Replicator.put": ("store.put", .passes("LogHold.begin", ["makeDurable()", "return mark"])),
        "Replicator.continueSnapshot": ("store.put", .passes("LogHold.begin", ["makeDurable()", "return mark"])),
        "Replicator.remember": ("memory.write", .passes("LogHold.begin", ["makeDurable()", "return mark"])),
        "LogHold.makeDurable": ("makeDurable", .order(["connection.main.makeDurable()"])),
        "LogHold.begin": ("makeDurable", .order(["makeDurable()", "state.durable = mark", "return mark"])),
        "ReplicaMemory.write": ("notes.write", .passes("SystemFile.replace", ["file.flush()", "rename(new, path)"])),
        "FileNotes.write": ("OwnFile.replace unlink", .passes("SystemFile.replace", ["file.flush()", "rename(new, path)"])),
        "FileNotes.init": ("notes.write", .order(["contents(of: notes.path)", "notes.write("])),
        "FileNotes.end": ("notes.write", .order(["notes.write(new)"])),
        "FileNotes.undo": ("OwnFile.replace unlink", .statesNothing("the former note, beside the former file")),
        "Replicator+FormerKeys.removeContentOfFormerKeys": (
            "store.put", .order(["reader.contents.snapshot != nil", "store.put(", "removeSection("])),
        "Replicator+FormerKeys.removeSection": (
            "store.delete", .passes("Replicator+FormerKeys.removeContentOfFormerKeys", ["store.put(", "removeSection("])),
        "ReplicaUpkeep.removeJoined": ("store.delete", .statesNothing("objects that the stored index replaces")),
        "ReplicaUpkeep.removeRetired": ("store.delete", .statesNothing("objects that the stored index does not name")),
        "ReplicaFollower.write": (
            "FollowerState.write OwnFile.replace",
            .order(["state.intent =", "FollowerState.write([(before", "spool.replay(", "written(for: path"])),
        "ReplicaFollower.written": ("Self.write([ makeDurable", .order(["makeDurable()", "Self.write(["])),
        "ReplicaFollower.giveCopy": ("FollowerState.write", .order(["FollowerState.write([(unknown", "changeKey(to: new)"])),
        "ReplicaFollower.restore": ("OwnFile.replace unlink", .order(["unknown(holding: held)"])),
        "ReplicaFollower.init": ("for: .creating unlink", .statesNothing("pages without a name")),
        "RestoredFile.init": ("for: .updating unlink", .statesNothing("pages in work")),
        "RestoredFile.begin": (
            "for: .creating unlink",
            .order([#"unlink(pagesPath + "-state")"#, "flushFolder(", "removePages()", "for: .creating", "flushFolder("])),
        "RestoredFile.record": ("OwnFile.replace", .order(["pages?.flush()", "OwnFile.replace("])),
        "RestoredFile.removePages": ("unlink", .passes("RestoredFile.begin", ["flushFolder(", "removePages()"])),
        "RestoredFile.truncate": ("ftruncate", .statesNothing("pages in work")),
        "RestoredFile.complete": (
            "publish rename unlink", .order(["rename(pagesPath", "discard()", "file.flush()", "flushFolder(", "file.publish("])),
        "RestoredFile.discard": ("unlink", .statesNothing("it removes a record")),
        "ReplicaRestore.run": ("publish", .order([".replace(with: file.pagesPath", "file.publish(key"])),
        // Change logs and stores.
        "ChangeLog.sent": ("makeDurable", .order(["make(db)", "makeDurable()", "return message"])),
        "ChangeExchange.put": ("store.put", .passes("ChangeLog.sent", ["make(db)", "makeDurable()", "return message"])),
        "ChangeExchange.tidy": ("store.delete", .order(["prune(", "chain.wholeAt", "store.delete("])),
        "ChangeStore.open": ("store.put", .statesNothing("random bytes")),
        "ObjectStore.put": ("store.put", .statesNothing("it calls the store for all others")),
        "ObjectStore.delete": ("store.delete", .statesNothing("it calls the store for all others")),
        "FolderStore.makeFolder": ("mkdir rmdir", .statesNothing("folders")),
        "FolderStore.place": ("mkdirat", .order(["mkdirat(", "AtomicFile.sync("])),
        "FolderStore.write": (
            "for: .creating renameat unlinkat", .order(["file.write(", "file.flush()", "renameat(", "AtomicFile.sync(folder"])),
        "FolderStore.delete": ("unlinkat", .statesNothing("it removes an object")),
        // The tool.
        "NewDatabase.remove": ("unlink", .statesNothing("a new database that an import gives up")),
        "StreamSpool.makeFile": ("unlink", .statesNothing("a file without a name")),
        "Invocation.openTerminal": ("O_RDWR", .statesNothing("a terminal")),
        "KeyPrompt.passed": ("write", .statesNothing("a pipe")),
        "Output.redirect": ("O_CREAT O_WRONLY", .statesNothing("the output of a query")),
        "History.append": ("O_CREAT O_WRONLY", .statesNothing("the commands of a shell")),
        "Tour.changeKey": ("rename", .order(["files.write(new", "changeKey(to:", "rename(newFile"])),
        "TourFiles.prepare": ("FileManager.default.createDirectory unlink", .statesNothing("the files of a former tour")),
        "TourFiles.write": ("O_CREAT O_WRONLY", .order(["write(", "fsync("])),
    ]

    /// A function, or a property with code.
    private struct Place {
        let name: String, text: String
        var calls: Set<String> = []
    }

    /// The system's functions, which have no labels and throw no errors; not where the file has its own of that name.
    private static let system = """
        rename|renameat|link|linkat|symlink|unlink|unlinkat|rmdir|mkdir|mkdirat|write|pwrite|writev|ftruncate|truncate|fopen\
        |sqlcipherkit_rename_exclusively|sqlcipherkit_flush
        """
    private static let others = """
        FileManager[.]default[.](?:create|remove|move|copy|replace|set|link)\\w+|FileHandle[(]for(?:Writing|Updating)\
        |[.]write[(]to(?:File|: URL|: url)|OwnFile[.]replace[(]|[.]publish[(]|\\bstore[.](?:put|delete)[(]\
        |for: [.](?:creating|updating)|O_(?:WRONLY|RDWR|CREAT)|(?<!func )makeDurable[(]|\\brewrite[.]write[(]\
        |\\b(?:notes|memory|FollowerState)[.]write[(]|\\bSelf[.]write[(]\\[|\\bwrite[(]try|\\bwrite[(]bytes[)]
        """

    private static func sources() throws -> [(file: String, text: String)] {
        let root = Repository.file("Sources")
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            let text = try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
            return (String(name.split(separator: "/").last?.dropLast(6) ?? ""), text)
        }
    }

    private static func indentation(_ line: String) -> Int { line.prefix { $0 == " " }.count }

    /// The functions of a file that make such calls.
    private static func places(in file: String, _ text: String) throws -> [Place] {
        let plain = "(?<![\\w.`])(?<!func )(?<!try )(?<!try[?] )(?<!await )(?:Foundation[.])?(?:\(system))(?=[(](?!\\w+: ))"
        let expression = try NSRegularExpression(pattern: "\(plain)|\(others)")
        let hits = expression.matches(in: text, range: NSRange(location: 0, length: text.utf16.count))
        if hits.isEmpty { return [] }
        let utf16 = Array(text.utf16), lines = text.components(separatedBy: "\n")
        var found: [String: Place] = [:], line = 0, start = 0
        for hit in hits {
            let range = hit.range.location..<hit.range.location + hit.range.length
            while start + lines[line].utf16.count < range.lowerBound {
                start += lines[line].utf16.count + 1
                line += 1
            }
            let call = String(decoding: utf16[range], as: UTF16.self).replacingOccurrences(of: "Foundation.", with: "")
            let isSystem = call.allSatisfy { $0.isLetter || $0 == "_" } && !call.hasPrefix("O_")
            if String(decoding: utf16[start..<range.lowerBound], as: UTF16.self).contains("//") { continue }
            if isSystem, text.contains("func \(call)(") { continue }
            guard let first = declaration(of: line, lines) else { continue }
            let end = String(repeating: " ", count: indentation(lines[first.line])) + "}"
            let isShort = lines[first.line].hasSuffix("}")
            let last = isShort ? nil : lines[first.line...].firstIndex { $0.hasPrefix(end) }
            let body = lines[first.line...(last ?? first.line)].joined(separator: "\n")
            // Functions with the same name count as one.
            var place = found[first.name] ?? Place(name: "\(file).\(first.name)", text: body)
            if !place.text.contains(body) { place = Place(name: place.name, text: place.text + body, calls: place.calls) }
            place.calls.insert(call.hasSuffix("(") ? String(call.dropLast()).trimmingCharacters(in: ["."]) : call)
            found[first.name] = place
        }
        return Array(found.values)
    }

    /// The function that a line is in: the next line above that is less indented, and declares something with a body.
    private static func declaration(of line: Int, _ lines: [String]) -> (line: Int, name: String)? {
        var least = indentation(lines[line])
        for number in stride(from: line, through: 0, by: -1) {
            let candidate = lines[number], depth = indentation(candidate)
            if candidate.isEmpty || (number < line && (depth >= least || candidate.dropFirst(depth).hasPrefix(")"))) { continue }
            if let declared = candidate.firstMatch(of: #/\b(?:func (\w+)|(init|deinit)\b(?=[?(<! ])|var (\w+)[^=]*\{)/#) {
                return (number, String(declared.1 ?? declared.2 ?? declared.3 ?? ""))
            }
            least = min(least, depth)
        }
        return nil
    }

    private static func follow(_ words: [String], in text: String) -> Bool {
        var rest = text[...]
        for word in words {
            guard let range = rest.range(of: word) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    @Test func everyPlaceThatWritesIsListedWithItsFlush() throws {
        var found: [String: Place] = [:], all: [String: String] = [:]
        for (file, text) in try Self.sources() {
            for place in try Self.places(in: file, text) { found[place.name] = place }
            all[file] = text
        }
        for (name, place) in found.sorted(by: { $0.key < $1.key }) {
            let calls = place.calls.sorted().joined(separator: " ")
            guard let (known, rule) = Self.places[name] else {
                Issue.record("\(name) calls \(calls): flush what it states, and add it to the list")
                continue
            }
            #expect(calls == known, "\(name)")
            switch rule {
            case .order(let words):
                let isKept = Self.follow(words, in: place.text)
                #expect(isKept, "\(name) has not these words in this order: \(words)")
            case .passes(let other, let words):
                let file = String(other.prefix { $0 != "." }), function = other.dropFirst(file.count + 1)
                let text = all[file] ?? "", start = text.range(of: "func \(function)(")?.lowerBound ?? text.endIndex
                let isKept = Self.follow(words, in: String(text[start...]))
                #expect(isKept, "\(other) has not these words in this order: \(words)")
            case .statesNothing: break
            }
        }
        #expect(Self.places.keys.filter { found[$0] == nil } == [], "no such places")
    }
}
