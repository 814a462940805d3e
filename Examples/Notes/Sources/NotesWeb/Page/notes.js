import { send } from "./server.js";
import * as drafts from "./drafts.js";
import { onChange } from "./changes.js";
import { openNew, openNote, openDraft, reopen, onTold } from "./editor.js";

const byID = id => document.getElementById(id), text = byID("text"), editor = byID("editor");
const page = 50;
let asked = null, pause = null, version = null, now = null, last = {}, wasAway = false;

// The address has the search: a reload, a bookmark and the browser's Back show it again.
function read() {
    const query = new URLSearchParams(location.search), limit = Number(query.get("show") ?? page);
    now = { text: query.get("q") ?? "", folder: query.get("folder"), tag: query.get("tag"), part: query.get("part"),
        limit: limit >= 1 && limit <= 10_000 ? Math.floor(limit) : page };
    if (text.value !== now.text) text.value = now.text;
}

// Going somewhere else is a step for Back; typing on is none.
function go(change, isStep = true) {
    now = { ...now, limit: page, ...change };
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({ q: now.text, folder: now.folder, tag: now.tag, part: now.part })) {
        if (value) query.set(name, value);
    }
    if (now.limit !== page) query.set("show", now.limit);
    history[isStep ? "pushState" : "replaceState"](null, "", query.size > 0 ? "?" + query : location.pathname);
    show();
}

// The screen for what is typed. It is asked for again after each change.
async function show() {
    asked?.abort();
    asked = new AbortController();
    const query = new URLSearchParams({ text: now.text, limit: now.limit });
    for (const name of ["folder", "tag", "part"]) if (now[name] !== null) query.set(name, now[name]);
    // The server reads a plus as a plus, and not as a space.
    const address = "screen?" + String(query).replaceAll("+", "%20");
    try { draw(await send("GET", address, undefined, asked.signal)); } catch (error) {
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

// A list of choices, of which one is the current one.
function choose(id, choices) {
    update(byID(id), choices, () => make("li", {}, button("")), (element, { label, count, change, isCurrent }) => {
        const choice = element.firstChild;
        choice.replaceChildren(make("span", { dir: "auto" }, label), make("span", {}, count?.toLocaleString() ?? ""));
        choice.onclick = () => go(change);
        if (isCurrent) choice.setAttribute("aria-current", "true");
        else choice.removeAttribute("aria-current");
    });
}

function draw({ rows, total, isExact, all, deleted, conflicts, folders, tags, correction, milliseconds }) {
    const isHere = name => !now.part && now.folder === name;
    const choices = [{ name: null, label: "All notes" }, ...folders].map(({ name, label = name, count }) =>
        ({ key: "in " + (name ?? ""), label, count, change: { folder: name, part: null }, isCurrent: isHere(name) }));
    for (const [part, label, count] of [["conflicts", "Conflicts", conflicts], ["deleted", "Deleted", deleted]]) {
        const isCurrent = now.part === part;
        if (count > 0 || isCurrent) choices.push({ key: part, label, count, change: { folder: null, part }, isCurrent });
    }
    choose("folders", choices);
    const shown = tags.some(({ name }) => name === now.tag) || now.tag === null ? tags : [{ name: now.tag, count: 0 }, ...tags];
    choose("tags", shown.map(({ name, count }) => ({ key: name, label: "#" + name, count, isCurrent: now.tag === name,
        change: { tag: now.tag === name ? null : name } })));
    const found = total.toLocaleString() + (isExact ? "" : " or more");
    const whole = ({ deleted, conflicts }[now.part] ?? all).toLocaleString();
    byID("count").textContent = `${found} of ${whole} in ${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
    byID("meant").hidden = !correction;
    const take = button(correction ?? "", () => {
        text.value = correction;
        text.focus();
        go({ text: correction });
    });
    byID("meant").replaceChildren("Did you mean ", take, "?");
    byID("more").hidden = rows.length >= total;
    byID("more").textContent = `Show ${Math.min(page, total - rows.length)} more`;
    update(byID("rows"), rows.map(row => ({ key: row.id, ...row })), row =>
        make("li", {}, button("", attempt(() => openNote(row.id)))), (element, row) => {
        element.firstChild.replaceChildren(
            make("strong", { dir: "auto" }, row.pinned ? "📌 " : "", ...marked(row.title)),
            ...(row.isDisputed ? [make("em", { className: "bad" }, "Changed in two copies")] : []),
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

function tellOfCopies({ device, beside, exchange }) {
    document.title = document.querySelector("h1").textContent = device ? `Notes: ${device}` : "Notes";
    byID("beside").hidden = !beside;
    byID("beside").onclick = () => open(beside, "beside", `popup,width=390,height=800,left=${screenX + outerWidth}`);
    byID("exchange").hidden = !exchange;
    if (!exchange) return;
    byID("offline").checked = exchange.isOffline;
    byID("copies").textContent = exchange.isOffline ? "Changes wait for the other copies."
        : exchange.problem ? `The other copies are not reached: ${exchange.problem}.` : "Changes go to the other copies.";
    byID("copies").classList.toggle("bad", Boolean(exchange.problem));
}

function tell({ isAway, bytes, replica, ...copies }) {
    if (isAway) {
        byID("replica").textContent = "The server does not answer. Waiting for it …";
    } else {
        byID("file").textContent = `Encrypted with SQLCipher: ${Math.ceil(bytes / 1024).toLocaleString()} KB.`;
        const seconds = Math.round(replica?.secondsBehind ?? 0), age = seconds < 5 ? "has every change" : `is ${seconds} s old`;
        byID("replica").textContent = !replica ? "There is no safe copy." : replica.problem
            ? `The safe copy ${replica.secondsBehind === undefined ? "is missing" : age}: ${replica.problem}.`
            : replica.secondsBehind === undefined ? "The safe copy is being made." : `The safe copy ${age}.`;
        tellOfCopies(copies);
    }
    byID("replica").classList.toggle("bad", Boolean(isAway || replica?.problem));
}

onTold((words, action) => { if (words !== null) say(words, action); drawDrafts(); });
text.oninput = () => { clearTimeout(pause); pause = setTimeout(() => go({ text: text.value }, false), 60); };
byID("more").onclick = () => go({ limit: now.limit + page }, false);
byID("new").onclick = attempt(() => openNew(now.folder));
addEventListener("popstate", () => { read(); show(); });
read();
byID("offline").onchange = attempt(async () => {
    const isOffline = byID("offline").checked;
    last.exchange = await send("PUT", "exchange", { isOffline });
    tellOfCopies(last);
});
onChange(event => {
    if (!event.isAway) last = event;
    // What could not be done while the server was away can be done now.
    if (wasAway && !event.isAway && !byID("said").querySelector("button")) say("");
    wasAway = event.isAway;
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
