// Texts that are typed and not yet saved. They are kept in the browser, encrypted, and their key is in the notebook: no text is
// readable outside of that.
import { send } from "./server.js";

const encoder = new TextEncoder(), decoder = new TextDecoder(), prefix = "draft:";
let key = null;
// The newest texts of drafts that wait to be encrypted, and the one that is being encrypted.
const waiting = new Map();
let work = null;

function draftKey() {
    key ??= send("GET", "draft-key").then(answer =>
        crypto.subtle.importKey("raw", Uint8Array.fromBase64(answer.key), "AES-GCM", false, ["encrypt", "decrypt"]));
    key.catch(() => key = null);
    return key;
}

// Asked for at once: drafts are kept when the server is away.
draftKey().catch(() => {});

export const newID = () => crypto.randomUUID();

// Keeps a draft, or removes it if that is null. It throws if the browser has no room.
export function keep(id, draft) {
    waiting.set(id, draft);
    work ??= keepWaiting().finally(() => work = null);
    return work;
}

async function keepWaiting() {
    while (waiting.size > 0) {
        const [id, draft] = waiting.entries().next().value;
        const sealed = draft && await seal(draft);
        if (waiting.get(id) !== draft) continue;
        waiting.delete(id);
        if (sealed) localStorage.setItem(prefix + id, sealed);
        else localStorage.removeItem(prefix + id);
    }
}

async function seal(draft) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const bytes = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await draftKey(), encoder.encode(JSON.stringify(draft)));
    return iv.toBase64() + "." + new Uint8Array(bytes).toBase64();
}

// Returns null for a draft that is gone, or is one of another notebook on this address.
export async function read(id) {
    const sealed = localStorage.getItem(prefix + id)?.split(".");
    if (!sealed) return null;
    const known = await draftKey(), [iv, bytes] = sealed.map(text => Uint8Array.fromBase64(text));
    try {
        return JSON.parse(decoder.decode(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, known, bytes)));
    } catch { return null; }
}

// The drafts that no page has open.
export async function left() {
    const ids = Object.keys(localStorage).filter(name => name.startsWith(prefix)).map(name => name.slice(prefix.length));
    const held = new Set((await navigator.locks.query()).held.map(lock => lock.name));
    const found = await Promise.all(ids.filter(id => !held.has(prefix + id)).map(async id => ({ id, draft: await read(id) })));
    return found.filter(each => each.draft);
}

// Holds a draft for this page until the function that is returned has been awaited. Returns null if another page holds it.
export function hold(id) {
    return new Promise(resolve => {
        const ended = navigator.locks.request(prefix + id, { ifAvailable: true }, lock =>
            lock ? new Promise(end => resolve(() => (end(), ended))) : resolve(null));
    });
}
