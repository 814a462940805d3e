import { send } from "./server.js";
import * as drafts from "./drafts.js";
import { onChange } from "./changes.js";
import { openNew, openNote, openDraft, reopen, onTold } from "./editor.js";

const byID = id => document.getElementById(id), text = byID("text"), editor = byID("editor");
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

// An element with what belongs into it. Text is set as text: what a note contains is never HTML.
function make(name, values = {}, ...content) {
    const made = Object.assign(document.createElement(name), values);
    made.append(...content);
    return made;
}

// Every second part is marked.
const marked = parts => parts.map((part, index) => index % 2 ? make("mark", {}, part) : part);

const button = (label, action) => make("button", { type: "button", onclick: action }, label);

const attempt = action => async () => { try { await action(); } catch (error) { say(error.message); } };

// Makes a list equal to items, and keeps the elements of those that stay: the focus and the place of scrolling stay with them.
function update(list, items, create, fill) {
    const known = new Map([...list.children].map(element => [element.dataset.key, element]));
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    const place = focused && [...list.children].findIndex(element => element.contains(focused));
    items.forEach((item, index) => {
        const key = String(item.key), element = known.get(key) ?? create(item);
        known.delete(key);
        element.dataset.key = key;
        fill(element, item);
        if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    });
    for (const gone of known.values()) gone.remove();
    // A moved element loses the focus; that of a removed one goes to what is in its place.
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    else if (focused && !editor.open) {
        (list.children[Math.min(place, list.children.length - 1)]?.querySelector("button") ?? text).focus();
    }
}

function draw(screen) {
    const folders = screen.folders.map(name => ({ key: "in " + name, label: name, name }));
    const choices = [{ key: "all", label: "All notes", name: null }, ...folders];
    if (screen.deleted > 0 || showsDeleted) {
        choices.push({ key: "deleted", label: `Deleted (${screen.deleted})`, name: null, deleted: true });
    }
    update(byID("folders"), choices, () => make("li", {}, button("")), (element, { label, name, deleted = false }) => {
        const choice = element.firstChild;
        choice.textContent = label;
        choice.dir = "auto";
        choice.onclick = () => { folder = name; showsDeleted = deleted; show(); };
        if (showsDeleted === deleted && folder === name) choice.setAttribute("aria-current", "true");
        else choice.removeAttribute("aria-current");
    });
    byID("count").textContent = showsDeleted ? `${screen.rows.length} deleted`
        : text.value ? `${screen.rows.length} found` : `${screen.rows.length} newest`;
    update(byID("rows"), screen.rows.map(row => ({ key: row.id, ...row })), row =>
        make("li", {}, button("", attempt(() => openNote(row.id)))), (element, row) => {
        element.firstChild.replaceChildren(
            make("strong", { dir: "auto" }, row.pinned ? "📌 " : "", ...marked(row.title)),
            ...[row.folder, ...row.tags.map(tag => "#" + tag)].filter(Boolean).map(tag => make("em", { dir: "auto" }, tag)),
            make("span", { dir: "auto" }, ...marked(row.excerpt)));
    });
}

function say(words, action) {
    byID("said").replaceChildren(words, ...(action ? [" ", button(action.label, () => { say(""); action.run(); })] : []));
}

// The texts that were typed and not saved, in this page before it was closed, or in another one.
async function drawDrafts() {
    const left = await drafts.left().catch(() => []);
    byID("drafts").hidden = left.length === 0;
    update(byID("drafts"), left.map(({ id, draft }) => ({ key: id, draft })), ({ key }) =>
        make("p", {}, make("span"), button("Continue", attempt(() => openDraft(key)))), (element, { draft }) => {
        element.firstChild.textContent = `Not saved: ${draft.title || "a note without a title"} `;
    });
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
// A slash goes to the search, and the arrows go through what was found.
addEventListener("keydown", event => {
    if (editor.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && document.activeElement !== text) {
        event.preventDefault();
        text.select();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const stops = [text, ...byID("rows").querySelectorAll("button")], at = stops.indexOf(document.activeElement);
        const next = at < 0 ? null : stops[at + (event.key === "ArrowDown" ? 1 : -1)];
        if (next) { event.preventDefault(); next.focus(); }
    }
});
show();
reopen().catch(error => say(error.message)).then(drawDrafts);
addEventListener("storage", drawDrafts);
