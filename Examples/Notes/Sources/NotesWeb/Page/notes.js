const byID = id => document.getElementById(id);
const text = byID("text"), editor = byID("editor"), form = editor.querySelector("form");
let folder = null, events = null, pause = null, edited = null;

// The screen for what is typed, now and after each change: the server observes the database, and sends it again.
function show() {
    events?.close();
    const query = new URLSearchParams({ text: text.value });
    if (folder !== null) query.set("folder", folder);
    events = new EventSource("events?" + query);
    events.onmessage = event => draw(JSON.parse(event.data));
    events.onerror = () => byID("count").textContent = "The server is gone. Waiting for it …";
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

function draw(screen) {
    const choose = name => () => { folder = name; show(); };
    byID("folders").replaceChildren(button("All notes", choose(null)), ...screen.folders.map(name => button(name, choose(name))));
    for (const each of byID("folders").children) {
        each.toggleAttribute("aria-current", each.textContent === (folder ?? "All notes"));
    }
    byID("count").textContent = text.value ? `${screen.rows.length} found` : `${screen.rows.length} newest`;
    byID("rows").replaceChildren(...screen.rows.map(row => {
        const item = document.createElement("li"), open = button(null, () => edit(row.id));
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

async function send(method, path, body) {
    const answer = await fetch(path, { method, body: body === undefined ? undefined : JSON.stringify(body),
        headers: { "content-type": "application/json" } });
    const content = await answer.text(), value = content ? JSON.parse(content) : null;
    if (!answer.ok) throw new Error(value?.error?.message ?? `status ${answer.status}`);
    return value;
}

async function edit(id) {
    edited = id === null ? { title: "", body: "", folder, pinned: false } : await send("GET", `notes/${id}`);
    form.title.value = edited.title;
    form.body.value = edited.body;
    byID("pin").textContent = edited.pinned ? "Unpin" : "Pin";
    byID("pin").hidden = byID("delete").hidden = id === null;
    // Escape closes the dialog and leaves this as it is.
    editor.returnValue = "cancel";
    editor.showModal();
}

editor.onclose = async () => {
    const note = { title: form.title.value, body: form.body.value, folder: edited.folder }, path = `notes/${edited.id}`;
    try {
        if (editor.returnValue === "save" && edited.id === undefined) await send("POST", "notes", note);
        else if (editor.returnValue === "save") await send("PUT", path, note);
        else if (editor.returnValue === "pin") await send("PUT", path + "/pinned", !edited.pinned);
        else if (editor.returnValue === "delete") await send("DELETE", path);
    } catch (error) { say(error.message); }
};

function say(words) { byID("said").textContent = words; }

async function tell() {
    try {
        const status = await send("GET", "status");
        byID("file").replaceChildren(`${Math.ceil(status.bytes / 1024)} KB on the disk, beginning `,
            Object.assign(document.createElement("code"), { textContent: status.beginning }));
        byID("replica").textContent = status.replica === undefined ? "No replica."
            : `Replica: state ${status.replica}, ${Math.max(0, status.secondsBehind ?? 0).toFixed(1)} s ago.`;
    } catch { byID("replica").textContent = ""; }
}

text.oninput = () => { clearTimeout(pause); pause = setTimeout(show, 60); };
byID("new").onclick = () => edit(null);
byID("sync").onclick = async () => {
    try {
        const { received, sent } = await send("POST", "synchronize");
        say(`${received} changes received, ${sent} sent.`);
    } catch (error) { say(error.message); }
};
show();
tell();
setInterval(tell, 2000);
