"""The bill of materials of a release: SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/), as JSON."""

import hashlib
import re

ROOT_ID = "SPDXRef-Package-SQLCipherKit"
ENGINE_FOLDER = "Vendor/sqlcipher/"
PUBLIC_DOMAIN = {
    "licenseId": "LicenseRef-LibTomCrypt-PublicDomain",
    "name": "LibTomCrypt's dedication to the public domain",
    "extractedText": "LibTomCrypt is public domain. As should all quality software be. Tom St Denis",
}


def digest(algorithm, data):
    return hashlib.new(algorithm, data).hexdigest()


def checksum(value):
    return {"algorithm": "SHA256", "checksumValue": value}


def identifier(name):
    return f"SPDXRef-Package-{name}"


def package(upstream, version, licence=None, **more):
    """A component. Its purl says where it comes from, and names a kind of registry, not a host."""
    entry = {
        "SPDXID": identifier(upstream["name"]),
        "name": upstream["name"],
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence or upstream["licence"],
        "licenseDeclared": licence or upstream["licence"],
        "copyrightText": upstream["copyright"],
        **more,
    }
    exact = upstream.get("version")
    references = []
    if "purl" in upstream:
        references += [("PACKAGE-MANAGER", "purl", f"{upstream['purl']}@{exact}" if exact else upstream["purl"])]
    if "cpe" in upstream:
        # A library that is linked from the system is at least this one.
        references += [("SECURITY", "cpe23Type", f"{upstream['cpe']}:{exact or upstream['minimumVersion']}:*:*:*:*:*:*:*")]
    # The archives that are known to have these very files.
    references += [("PACKAGE-MANAGER", "purl", carrier["purl"]) for carrier in upstream.get("carriers", [])]
    if references:
        keys = ("referenceCategory", "referenceType", "referenceLocator")
        entry["externalRefs"] = [dict(zip(keys, reference)) for reference in references]
    return entry


def vendored(upstream, version, files, note=""):
    """A component whose files are in the release, each with its sums."""
    names = {"/".join(filter(None, [upstream.get("folder"), m["file"]])) for m in upstream["members"]}
    entries = [{
        "SPDXID": f"SPDXRef-File-{re.sub('[^A-Za-z0-9.]+', '-', path.removeprefix(ENGINE_FOLDER))}",
        "fileName": f"./{path}",
        "checksums": [{"algorithm": "SHA1", "checksumValue": digest("sha1", data)}, checksum(digest("sha256", data))],
        "licenseConcluded": upstream["licence"],
        "licenseInfoInFiles": ["NOASSERTION"],
        "copyrightText": "NOASSERTION",
    } for path, (_, data) in sorted(files.items()) if path.removeprefix(ENGINE_FOLDER) in names]
    sums = "".join(sorted(entry["checksums"][0]["checksumValue"] for entry in entries))
    sources = [f"{c['purl']} ({c['file']}, SHA-256 {c['sha256']})" if "file" in c else c["purl"] for c in upstream["carriers"]]
    found = package(
        upstream, version,
        licenseInfoFromFiles=["NOASSERTION"],
        packageVerificationCode={"packageVerificationCodeValue": digest("sha1", sums.encode())},
        hasFiles=[entry["SPDXID"] for entry in entries],
        sourceInfo=f"from {', '.join(sources)}{note}",
    )
    found["filesAnalyzed"] = True
    return found, entries


def document(version, created, pins, files):
    named = {upstream["name"]: upstream for upstream in pins.upstreams}
    sqlcipher, sqlite = named["SQLCipher"], named["SQLite"]
    note = "; sqlite3.c with this package's patches (Vendor/patches)"
    engine, engine_files = vendored(sqlcipher, sqlcipher["cipherVersion"], files, note)
    components = [
        package({"name": "SQLCipherKit", "licence": "MIT", "copyright": "NOASSERTION"}, version, primaryPackagePurpose="LIBRARY"),
        engine,
        package(sqlite, sqlite["version"], sourceInfo=f"inside SQLCipher's sqlite3.c; source id {sqlite['sourceID']}"),
    ]
    links = [("SPDXRef-DOCUMENT", "DESCRIBES", ROOT_ID),
             (ROOT_ID, "CONTAINS", identifier("SQLCipher")), (identifier("SQLCipher"), "DEPENDS_ON", identifier("SQLite"))]
    for upstream in pins.others:
        component, its_files = vendored(upstream, upstream["version"], files)
        components.append(component)
        engine_files += its_files
        links.append((ROOT_ID, "CONTAINS", identifier(upstream["name"])))
    for upstream in pins.upstreams:
        if "minimumVersion" in upstream:
            use = upstream["use"]
            components.append(package(upstream, f"{upstream['minimumVersion']} or newer", comment=f"Not in the release. {use}"))
            here, there = identifier(upstream["name"]), ROOT_ID
            if upstream.get("optional"):
                links.append((here, "OPTIONAL_DEPENDENCY_OF", there))
            else:
                links.append((there, "DYNAMIC_LINK", here))
    # A sum over every byte of the release, so that each release has its own document.
    whole = digest(
        "sha256", "".join(f"{digest('sha256', data)} {mode} {path}\n" for path, (mode, data) in sorted(files.items())).encode()
    )
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"SQLCipherKit-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/SQLCipherKit-{version}-{whole}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: SQLCipherKit-scripts-release"]},
        "hasExtractedLicensingInfos": [PUBLIC_DOMAIN],
        "packages": components,
        "files": engine_files,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in links
        ],
    }
