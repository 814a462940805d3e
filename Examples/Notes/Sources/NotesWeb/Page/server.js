// A request to the server. Throws an error with words for a person, and with the status and the answer if there is one.
export async function send(method, path, body, signal = AbortSignal.timeout(30_000)) {
    let answer, content;
    try {
        answer = await fetch(path, { method, signal, headers: method === "GET" ? {} : { "content-type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body) });
        content = await answer.text();
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Error("The server does not answer.");
    }
    let value = null;
    try { if (content) value = JSON.parse(content); } catch { /* an answer without JSON has a status */ }
    if (answer.ok) return value;
    const words = { 413: "This is too long: 8 MB at most.", 503: "The notebook is busy. Try again in a second." };
    const message = words[answer.status] ?? value?.error?.message ?? `status ${answer.status}`;
    throw Object.assign(new Error(message), { status: answer.status, value });
}
