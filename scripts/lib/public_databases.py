#!/usr/bin/env python3
"""usage: scripts/lib/public_databases.py FOLDER

Writes SQLite databases that packages of the Python Package Index carry into FOLDER, and prints the name of each. The archives are
downloaded once, into the cache of scripts/vendor, by the package client's own configuration, and only files with the sums below are
taken. None of their code runs."""

import os
import sys
import tarfile
import zipfile
from pathlib import Path

from carriers import Stop, cache_folder, downloader, locked, require_sum

AUTHORITY = "scripts/lib/public_databases.py"
# The package with its version, its archive, the archive's SHA-256, and the databases in it.
PINS = [
    ("ankipandas==0.3.15", "ankipandas-0.3.15.tar.gz", "df59245f2b705077ae6ba4c164cc9fbaf9906bd28d29c2bf89e9700ea363dfbc", [
        "ankipandas-0.3.15/ankipandas/test/data/few_basic_cards/collection.anki2",
        "ankipandas-0.3.15/ankipandas/test/data/few_basic_cards/collection_v1.anki2",
    ]),
    ("biopython==1.88", "biopython-1.88.tar.gz", "9aaa31c0bda4d059f7b2ee00bfdb5cbb73ade3057aa4b737a7cc0187091d071a", [
        "biopython-1.88/Tests/BioSQL/cor6_6.db",
        "biopython-1.88/Tests/MAF/ucsc_mm9_chr10_big.mafindex",
        "biopython-1.88/Tests/Roche/triple_sff.idx",
    ]),
    ("bokeh-sampledata==2026.1", "bokeh_sampledata-2026.1-py3-none-any.whl",
     "f40331a40ca30c64a1c1471835aad9006b61b0d9731a3f649ee8cbbf48d3822f", [
         "bokeh_sampledata/_data/geographic_boundaries.db",
         "bokeh_sampledata/_data/movies.db",
     ]),
    ("gffutils==0.14", "gffutils-0.14.tar.gz", "0246a16373453a5a1faf6696553557f2ebf49b2f91a7730cb59d46b5cbd1d9b1", [
        "gffutils-0.14/gffutils/test/data/FBgn0031208.gtf.db",
    ]),
    ("mendeleev==1.3.0", "mendeleev-1.3.0-py3-none-any.whl",
     "76f415767b654634e51dead755513ef431abf200e892eab8468aa659ff218d1c", ["mendeleev/elements.db"]),
    ("obspy==1.5.1", "obspy-1.5.1.tar.gz", "95990a0b052b6d436b91cb6ee9f1f27ce302cc553818006ec88ed03c272e8c54", [
        "obspy-1.5.1/obspy/clients/filesystem/tests/data/tsindex_data/timeseries.sqlite",
    ]),
    ("optuna==5.0.0", "optuna-5.0.0.tar.gz", "358bb878b7b1e20e90dc944ac4261796dd3d5c2b7860aa960a08fc10e0b5beff", [
        "optuna-5.0.0/tests/storages_tests/rdb_tests/test_upgrade_assets/0.9.0.a.db",
        "optuna-5.0.0/tests/storages_tests/rdb_tests/test_upgrade_assets/3.2.0.a.db",
    ]),
    ("piecash==1.2.1", "piecash-1.2.1.tar.gz", "7f9c5c7342df3b9cd1457adf4b82fea430f14fa93be17e52c7dd41c02abf7104", [
        "piecash-1.2.1/gnucash_books/book_prices.gnucash",
        "piecash-1.2.1/tests/books/all-accounts.gnucash",
    ]),
    ("plaso==20260720", "plaso-20260720.tar.gz", "c868892d9f203a3d002a907ef1942344ab06706412f32aefef856940a371927e", [
        "plaso-20260720/plaso/data/winevt-rc.db",
    ]),
    ("postalcodes-mexico==0.4.2", "postalcodes_mexico-0.4.2-py2.py3-none-any.whl",
     "91bd6a1df0faf9dedef38af79914901ec8a0f9f10f2bfa502f7c8d6e2b72e54e", ["postalcodes_mexico/data/postalcodes.sqlite3"]),
    ("pyogrio==0.13.0", "pyogrio-0.13.0.tar.gz", "9614f27a1891113f80653e0b76b4233ea1fb3beeb1ac46d118ab22e1670f8f13", [
        "pyogrio-0.13.0/pyogrio/tests/fixtures/curve.gpkg",
        "pyogrio-0.13.0/pyogrio/tests/fixtures/test_gpkg_nulls.gpkg",
    ]),
    ("pyongc==1.2.2", "pyongc-1.2.2-py3-none-any.whl",
     "d740581ce5e7317a51fc31bec19bb8562bf358c399551b5dfe73a752fa490bf2", ["pyongc/ongc.db"]),
    ("pypostalcode==0.4.1", "pypostalcode-0.4.1-py3-none-any.whl",
     "76c6ccff42b58604a485b568a34f296a15df05be3c6fc6ee7edc945bba45377b", ["pypostalcode/postalcodes.db"]),
    ("pyrekordbox==0.5.0", "pyrekordbox-0.5.0.tar.gz", "4a5181ab2d9f0c73169ba8c04ba854b8e786251de58a6d35a610d4d04c7e5885", [
        "pyrekordbox-0.5.0/.testdata/rekordbox 6/master_unlocked.db",
    ]),
    ("pyzipcode==3.0.1", "pyzipcode-3.0.1.tar.gz", "4146386c3f45dc9b5c30e537da60c7d58fac54d6312f24a718340f3c235cff1b", [
        "pyzipcode-3.0.1/pyzipcode/zipcodes.db",
    ]),
    ("requests-cache==1.3.3", "requests_cache-1.3.3.tar.gz",
     "79b72d5ac5143992d1836ad78f4d8e65666061dd44e220548caab3723089826b", [
         "requests_cache-1.3.3/tests/compat/httpbin_sample.test-db",
     ]),
    ("xraydb==4.5.8", "xraydb-4.5.8-py3-none-any.whl",
     "2215baafa6a03d00d0254a94525aafc6493c8c285e4ac4477fbd6271b25e6a51", ["xraydb/xraydb.sqlite"]),
    ("zh2ru-idterms==0.1.2", "zh2ru_idterms-0.1.2-py3-none-any.whl",
     "8e3282caff70414ea743c2e57e9b2bea02ab81eda4884b14aa4e4c16c76ed82e", ["zh2ru_idterms/data/terms.db"]),
]


def fetch(cache):
    missing = [pin for pin in PINS if not (cache / pin[1]).exists()]
    if not missing:
        return
    with downloader(cache, missing[0][1]) as download:
        for package, file, expected, _ in missing:
            download(package, file, expected, AUTHORITY)


def member(archive, name):
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(name)
    with tarfile.open(archive) as sdist:
        return sdist.extractfile(name).read()


def main(folder):
    cache = cache_folder() / "databases"
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        fetch(cache)
    for package, file, expected, names in PINS:
        require_sum(cache / file, (cache / file).read_bytes(), expected, AUTHORITY, "remove it, and run the test again")
        for name in names:
            copy = f"{package.partition('==')[0]}-{os.path.basename(name)}"
            (Path(folder) / copy).write_bytes(member(cache / file, name))
            print(copy)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    try:
        main(sys.argv[1])
    except (Stop, KeyError, OSError) as error:
        sys.exit(f"public_databases: {error}")
