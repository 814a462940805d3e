import { send } from "./server.js";
import * as drafts from "./drafts.js";
import { onChange } from "./changes.js";
import { openNew, openNote, openDraft, reopen, onTold } from "./editor.js";

const byID = id => document.getElementById(id), text = byID("text");
let folder = null, showsDeleted = false, asked = null, pause = null, version = null;

// The screen for what is typed. It is asked for again after each change.
async function show() {
    asked?.abort();
    asked = new AbortController();
    const query = new URLSearchParams({ text: text.value });
    if (folder !== null) query.set("folder", folder);
    if (showsDeleted) query.set("deleted", "");
    try { draw(await send("GET", "screen?" + query, undefined, asked.signal)); } catch (error) {
        if (error.name !== "AbortError") byID("count").textContent = error.message;
    }
}

// Every second part is marked. All text is set as text: what a note contains is never HTML.
function marked(element, parts) {
    parts.forEach((part, index) => {
        const piece = document.createElement(index % 2 ? "mark" : "span");
        piece.textContent = part;
        element.append(piece);
    });
    return element;
}

function button(label, action) {
    const made = document.createElement("button");
    if (label !== null) made.textContent = label;
    made.onclick = action;
    return made;
}

const attempt = action => async () => { try { await action(); } catch (error) { say(error.message); } };

function draw(screen) {
    const choose = (name, deleted = false) => () => { folder = name; showsDeleted = deleted; show(); };
    const choices = [["All notes", null], ...screen.folders.map(name => [name, name])].map(([label, name]) => {
        const made = button(label, choose(name));
        made.toggleAttribute("aria-current", !showsDeleted && name === folder);
        return made;
    });
    if (screen.deleted > 0 || showsDeleted) {
        const made = button(`Deleted (${screen.deleted})`, choose(null, true));
        made.toggleAttribute("aria-current", showsDeleted);
        choices.push(made);
    }
    byID("folders").replaceChildren(...choices);
    byID("count").textContent = showsDeleted ? `${screen.rows.length} deleted`
        : text.value ? `${screen.rows.length} found` : `${screen.rows.length} newest`;
    byID("rows").replaceChildren(...screen.rows.map(row => {
        const item = document.createElement("li"), open = button(null, attempt(() => openNote(row.id)));
        open.append(marked(document.createElement("strong"), [(row.pinned ? "📌 " : "") + row.title[0], ...row.title.slice(1)]));
        for (const tag of [row.folder, ...row.tags.map(tag => "#" + tag)].filter(Boolean)) {
            const label = document.createElement("em");
            label.textContent = tag;
            open.append(label);
        }
        open.append(marked(document.createElement("span"), row.excerpt));
        item.append(open);
        return item;
    }));
}

function say(words, action) {
    byID("said").replaceChildren(words, ...(action ? [" ", button(action.label, () => { say(""); action.run(); })] : []));
}

// The texts that were typed and not saved, in this page before it was closed, or in another one.
async function drawDrafts() {
    const left = await drafts.left().catch(() => []);
    byID("drafts").hidden = left.length === 0;
    byID("drafts").replaceChildren(...left.map(({ id, draft }) => {
        const item = document.createElement("p");
        item.append(`Not saved: ${draft.title || "a note without a title"} `, button("Continue", attempt(() => openDraft(id))));
        return item;
    }));
}

function tell({ isAway, bytes, replica }) {
    if (isAway) {
        byID("replica").textContent = "The server does not answer. Waiting for it …";
    } else {
        byID("file").textContent = `Encrypted with SQLCipher: ${Math.ceil(bytes / 1024).toLocaleString()} KB.`;
        const seconds = Math.round(replica?.secondsBehind ?? 0), age = seconds < 5 ? "has every change" : `is ${seconds} s old`;
        byID("replica").textContent = !replica ? "There is no safe copy." : replica.problem
            ? `The safe copy ${replica.secondsBehind === undefined ? "is missing" : age}: ${replica.problem}.`
            : replica.secondsBehind === undefined ? "The safe copy is being made." : `The safe copy ${age}.`;
    }
    byID("replica").classList.toggle("bad", Boolean(isAway || replica?.problem));
}

onTold((words, action) => { if (words !== null) say(words, action); drawDrafts(); });
text.oninput = () => { clearTimeout(pause); pause = setTimeout(show, 60); };
byID("new").onclick = attempt(() => openNew(folder));
byID("sync").onclick = attempt(async () => {
    const { received, sent } = await send("POST", "synchronize");
    say(`${received} changes received, ${sent} sent.`);
});
onChange(event => {
    tell(event);
    if (!event.isAway && event.version !== version) show();
    version = event.isAway ? null : event.version;
});
show();
reopen().catch(error => say(error.message)).then(drawDrafts);
addEventListener("storage", drawDrafts);
