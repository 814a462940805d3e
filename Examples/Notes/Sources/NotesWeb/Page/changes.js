// News of changes from the server. One page has the stream, and tells the others: a browser has six connections for all of them.
const channel = new BroadcastChannel("changes"), listeners = [];
let last = null;

export function onChange(listener) {
    listeners.push(listener);
    if (last) listener(last);
}

function hear(event) {
    last = event;
    for (const listener of listeners) listener(event);
}

function tell(event) {
    channel.postMessage(event);
    hear(event);
}

channel.onmessage = ({ data }) => {
    if (data !== "hello") hear({ ...data, isSource: false });
    else if (last?.isSource) channel.postMessage(last);
};
channel.postMessage("hello");

function listen() {
    const events = new EventSource("events");
    events.onmessage = ({ data }) => tell({ ...JSON.parse(data), isSource: true });
    events.onerror = () => {
        tell({ isAway: true, isSource: true });
        // The browser itself goes on after a lost connection, and not after a refusal.
        if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5_000);
    };
}

// The browser gives the lock to the next page when this one is closed.
navigator.locks.request("changes", () => new Promise(listen));
