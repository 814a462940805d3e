// The form of one note. It closes after the server has said yes; until then each letter is in a draft.
import { send } from "./server.js";
import * as drafts from "./drafts.js";

const byID = id => document.getElementById(id), editor = byID("editor"), form = byID("note");
// The note as it was opened, its texts as the form shows them, and the draft. Null while the form is closed.
let open = null;
let told = () => {};

// Calls back with words and an action (its label and a function), or null for a change of the drafts that are left.
export function onTold(listener) { told = listener; }

export function openNew(folder) {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    const id = (high % 2 ** 21) * 2 ** 32 + low + 1;
    return show({ id, isNew: true, title: "", body: "", folder, pinned: false, deleted: false });
}

export async function openNote(id) { return show(await send("GET", `notes/${id}`)); }

export async function openDraft(id) {
    const draft = await drafts.read(id);
    if (draft) await show(draft.note, draft, id);
}

// After a reload the form is as it was.
export async function reopen() {
    const last = JSON.parse(sessionStorage.getItem("open") ?? "null");
    if (!last) return;
    if (await drafts.read(last.draft)) await openDraft(last.draft);
    else if (!last.isNew) await openNote(last.id);
}

async function show(note, typed = note, draft = drafts.newID()) {
    let release = await drafts.hold(draft);
    // If another page has this draft, the text goes on in a copy.
    while (!release) release = await drafts.hold(draft = drafts.newID());
    const before = open;
    open = { draft, release, isSaving: false };
    drawOthers(note);
    drawSimilar(note.similar);
    place(note, typed);
    say("");
    keep();
    sessionStorage.setItem("open", JSON.stringify({ draft, id: note.id, isNew: note.isNew }));
    if (editor.open) form.title.focus();
    else editor.showModal();
    await before?.release();
}

function place(note, typed) {
    open.note = note;
    // The form changes line breaks, which is no change of the note.
    [form.title.value, form.body.value] = [note.title, note.body];
    open.shown = { title: form.title.value, body: form.body.value };
    [form.title.value, form.body.value] = [typed.title, typed.body];
    byID("where").textContent = note.folder ?? "";
    drawState();
}

// The text of another page or another copy, below the one in the form.
function drawTheirs(words, title, body) {
    byID("conflict").hidden = false;
    byID("conflictSaid").textContent = words;
    byID("theirTitle").textContent = title;
    byID("theirs").value = body;
    byID("theirs").hidden = byID("both").hidden = body === "";
}

// The texts that other copies have left before they met this one. Saving the form settles those that it shows.
function drawOthers({ deleted, others, settles }) {
    byID("conflict").hidden = true;
    if (!settles?.length) return;
    const of = name => others.filter(({ field }) => field === name).map(({ text }) => text).join("\n\n");
    const devices = [...new Set(others.map(({ device }) => device ?? "another copy"))].join(", ");
    drawTheirs(deleted ? "This note was deleted in one copy and changed in another. Save brings it back."
        : `This note was changed in two copies before they met. Save to keep only what is above; the text from ${devices} is here:`,
        of("title"), of("body"));
}

// Notes like this one, which open in its place. What was typed here and not saved stays as a draft.
function drawSimilar(notes = []) {
    byID("similar").hidden = notes.length === 0;
    byID("similar").replaceChildren("More like this: ", ...notes.map(({ id, title }) => Object.assign(
        document.createElement("button"), { type: "button", dir: "auto", textContent: title,
            onclick: () => openNote(id).then(() => told(null), error => say(error.message)) })));
}

function drawState() {
    const { isNew, deleted, pinned } = open.note;
    byID("pin").textContent = pinned ? "Unpin" : "Pin";
    byID("pin").hidden = isNew || deleted;
    byID("delete").textContent = deleted ? "Delete for good" : "Delete";
    byID("delete").hidden = isNew;
    byID("restore").hidden = !deleted;
    byID("discard").hidden = !isChanged();
}

// The texts that were changed, with what they were: the server refuses them if that is no longer so.
function edits() {
    const { note, shown } = open, result = {};
    for (const name of ["title", "body"]) {
        if (form[name].value !== shown[name]) result[name] = { was: note[name], now: form[name].value };
    }
    return result;
}

const isChanged = () => Object.keys(edits()).length > 0;

async function keep() {
    const { draft, note } = open, typed = { title: form.title.value, body: form.body.value };
    drawState();
    try { await drafts.keep(draft, isChanged() ? { note, ...typed, at: Date.now() } : null); } catch {
        say("This text cannot be kept as a draft: save it before you leave.");
    }
}

function say(words) { byID("formSaid").textContent = words; }

async function close(mine, words, action) {
    await drafts.keep(mine.draft, null).catch(() => {});
    if (open === mine) {
        open = null;
        await mine.release();
        editor.close();
    }
    told(words, action);
}

// Runs a request with the form still open. What is typed waits meanwhile. If the form was closed, its text is left as a draft.
async function attempt(request) {
    const mine = open;
    if (mine.isSaving) return;
    mine.isSaving = form.title.readOnly = form.body.readOnly = true;
    say("Saving …");
    try { await request(mine); } catch (error) {
        if (open !== mine) told(error.message);
        else if (error.status === 409) conflict(error.value);
        else if (error.status === 404) gone();
        else say(`${error.message} Your text is kept here: try again.`);
    }
    mine.isSaving = form.title.readOnly = form.body.readOnly = false;
}

function save() {
    return attempt(async mine => {
        const { note } = mine, changed = edits();
        if (note.isNew) {
            await send("POST", "notes", { id: note.id, title: form.title.value, body: form.body.value, folder: note.folder });
        } else if (isChanged() || note.settles?.length) {
            const { settles } = note;
            await send("PATCH", `notes/${note.id}`, { ...changed, settles, ...(note.deleted ? { deleted: false } : {}) });
        }
        await close(mine, note.isNew ? "Added." : "Saved.");
    });
}

// Shows both texts. Fields that were not changed here are as they are there; saving again replaces the other text by this one.
function conflict(now) {
    if (!now?.id) return say("The notebook refuses this now.");
    const changed = edits();
    drawTheirs(now.deleted
        ? "This note was deleted elsewhere. Save again to bring it back with your text; the text it had is here:"
        : "This note was changed elsewhere after you opened it. Save again to replace that text, which is here:",
        now.title, now.body);
    place({ ...now, settles: open.note.settles }, { title: changed.title?.now ?? now.title, body: changed.body?.now ?? now.body });
    say("Not saved.");
    keep();
}

function gone() {
    place({ ...open.note, isNew: true, title: "", body: "" }, { title: form.title.value, body: form.body.value });
    say("This note is no longer in the notebook. Save again to add it with your text.");
    keep();
}

// A change of anything but the text, which stays as it is.
const change = (edits, after) => attempt(async mine => {
    await send("PATCH", `notes/${mine.note.id}`, edits);
    Object.assign(mine.note, edits);
    if (open !== mine) return;
    say("");
    await keep();
    await after?.(mine);
});

async function remove() {
    if (open.note.deleted) {
        if (!confirm("Remove this note for good?")) return;
        return attempt(async mine => { await send("DELETE", `notes/${mine.note.id}`); await close(mine, "Removed for good."); });
    }
    await change({ deleted: true }, async mine => {
        const { id, title } = mine.note;
        const undo = () => send("PATCH", `notes/${id}`, { deleted: false }).then(() => told("Restored."), e => told(e.message));
        // Text that was not saved stays as a draft.
        editor.close();
        told(`“${title}” is deleted.`, { label: "Undo", run: undo });
    });
}

form.onsubmit = event => { event.preventDefault(); save(); };
form.oninput = keep;
byID("pin").onclick = () => change({ pinned: !open.note.pinned });
byID("restore").onclick = () => change({ deleted: false });
byID("delete").onclick = remove;
byID("discard").onclick = () => { if (confirm("Discard what you have typed?")) close(open, "Discarded."); };
byID("both").onclick = () => { form.body.value += "\n\n" + byID("theirs").value; form.body.focus(); keep(); };
byID("close").onclick = () => editor.close();
// Escape and Close leave a draft of what was not saved.
editor.onclose = async () => {
    sessionStorage.removeItem("open");
    if (open) {
        const { release } = open;
        await keep();
        open = null;
        await release();
    }
    told(null);
};
