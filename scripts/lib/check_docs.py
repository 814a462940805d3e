"""Checks what docc does not: that symbols are listed under topics."""

import json
import sys
from pathlib import Path

# A type with more members than this needs its own groups; for smaller types, docc's groups by kind are enough.
MEMBERS = 60


def uncurated(site):
    data = site / "data" / "documentation"
    for path in sorted(data.rglob("*.json")):
        page = json.loads(path.read_text())
        if page.get("kind") != "symbol":
            continue
        # Operators, of which there is one for each pair of types, are found in docc's own group of that name.
        generated = [s for s in page.get("topicSections", []) if s.get("generated") and s["title"] != "Operators"]
        count = sum(not i.endswith("-Implementations") for s in generated for i in s["identifiers"])
        name = page["metadata"]["title"]
        kind = page["metadata"].get("symbolKind")
        if kind == "module" and count or count > MEMBERS:
            members = [i.rsplit("/", 1)[1] for s in generated for i in s["identifiers"]]
            yield f"{name} has {count} symbols that are listed under no topic: {', '.join(members)}"


problems = list(uncurated(Path(sys.argv[1])))
for problem in problems:
    print(f"docs: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
