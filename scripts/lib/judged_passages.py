"""Passages of real documentation, and queries that were judged: for scripts/bench vectors --judged.

The passages are cut from the packages that the bench of search reads. Each query was written for one passage, drawn by a seed,
before any search was run, half of them in other words than the passage has. A passage is known by its sum, so a query whose passage
has changed is found out."""

import hashlib
import random

import search_corpus

COUNT, SEED = 10_000, 77
# The query, the title of its passage, and the first digits of the SHA-256 of its text.
QUERIES = [
    ("kick off an image build by hand", "imagebuilder start image pipeline execution", "23b2999e040e"),
    ("make an undirected copy of a directed graph", "networkx to undirected", "29e40462b63f"),
    ("inventory reports set up on a bucket", "S3 list bucket inventory configurations", "0cb932b5bf52"),
    ("remove a Proton service together with its pipeline", "Proton delete service", "43abbb3af68a"),
    ("take files out of a Kendra search index", "kendra batch delete document", "a3e4ab1fb173"),
    ("pick three random nodes of a digraph", "networkx random triad", "8aa807d7b9b1"),
    ("find a loop in a multigraph", "networkx find cycle", "aa92cb2c7deb"),
    ("before an environment can be removed, which entries must go", "Apigee API organizations environments delete", "1dc7e5ec544c"),
    ("voterank", "networkx voterank", "91b9f5735dbb"),
    ("export a graph for d3.js", "networkx init", "a7e6deebbf78"),
    ("_solve_lin_sys_component", "sympy solve lin sys", "c871e8945ee3"),
    ("policy that an account ends up with after inheritance", "Organizations describe effective policy", "c4e52bebba01"),
    ("csrf token for a form", "django get token", "825f8d9d93b3"),
    ("guaranteed orders hidden when archived", "360 API guaranteed orders list", "259d0d000298"),
    ("does every long cycle have a chord", "networkx is chordal", "94a7291bc357"),
    ("require a second factor to assume a role", "STS assume role", "216f8d969661"),
    ("turn a suspended chat subscription back on", "Workspace Events API subscriptions reactivate", "539a7eeb2e72"),
    ("weight on a spring with damping and an outside force", "sympy test forced mass spring damper model", "93b31bd520bb"),
    ("template lexer token in_tag", "django create token", "31168ba5e8b3"),
    ("turn a regular polygon around its middle", "sympy rotate", "fbad2ed759d1"),
    ("number of ways to split n objects into k groups", "sympy n t", "1fa59188e372"),
    ("stop training a model that is running", "projects locations training pipelines cancel", "08c2bef26821"),
    ("ASN numbers reserved in us-east-1", "EC2 create customer gateway", "1f6e3f8f12ae"),
    ("small world graph rewire edges probability", "networkx watts strogatz graph", "9abc4674fb06"),
    ("radix-2 FFT padding with zeros", "sympy fft", "985e6d3121f0"),
    ("make the leading coefficient one", "sympy monic", "47133d0754ca"),
    ("load history to predict demand", "forecast create dataset", "0210cd7a49e7"),
    ("scope 3 flight emissions", "Impact Model API flights compute scope 3 flight emissions", "c99d352790d3"),
    ("choose_domain DomainMatrix", "sympy choose domain", "18e7cfaa1cf3"),
    ("velocity of a point moving in a rotating body", "sympy v 1 pt theory", "9004892718a3"),
    ("inline policies of a role", "IAM list role policies", "3202e55ddb58"),
    ("add a DNS record and health check for a service instance", "ServiceDiscovery register instance", "039bee288ddd"),
    ("set up a private root CA", "ACM PCA create certificate authority", "8d8bcf063043"),
    ("run containers on Lightsail", "Lightsail create container service", "2f3056c417b8"),
    ("probability space with one continuous variable", "sympy single continuous p space", "d81ed93d84ec"),
    ("locate a static file", "django find", "d2c47012ac0b"),
    ("limits too low in the region that takes over", "ARC Region switch list service quota warnings", "e2384cd176cc"),
    ("read a quantum register as a number", "sympy int qubit", "10f31ae9e51c"),
    ("is my server going to be rebooted for maintenance", "EC2 describe instance status", "658c3262b63f"),
    ("send a SageMaker job to a queue", "Batch submit service job", "5b950aa1355a"),
    ("random variable with gamma distribution", "sympy gamma", "0cc99a9e5045"),
    ("guess the recurrence behind a list of numbers", "sympy find simple recurrence vector", "6ef25e1ae2df"),
    ("throw away training images for custom labels", "Rekognition delete dataset", "0fe7d1e03dd2"),
    ("embed the dashboard authoring console in my site", "QuickSight get session embed url", "7bef0c3c2979"),
    ("turn off two-way messages for a group of phone numbers", "Pinpoint SMS Voice V2 update pool", "aaf6bd3f2f33"),
    ("IoTSiteWise enrichment jobs that are running", "IoTSiteWise list enrichment jobs", "eaddcc251312"),
    ("detach a network from a private DNS zone", "Route 53 disassociate vpc from hosted zone", "6eb924d629bb"),
    ("kms:Decapsulate", "KMS decapsulate", "a14afa2f8ba7"),
    ("are changes allowed now by the change calendar", "SSM get calendar state", "17e3ca4df653"),
    ("grow and shrink game servers on EC2", "GameLift create game server group", "52b4d2bcb9a2"),
    ("ListEngagements", "PartnerCentral Selling list engagements", "6dfc2c132aaa"),
    ("who uses a value that my stack exports", "CloudFormation list imports", "ec03cddbb339"),
    ("GuardDuty detector by id", "GuardDuty get detector", "5ce7f905810a"),
    ("access policy version BigQuery", "BigQuery API datasets patch access policy version", "01f344739206"),
]


def passages(folder):
    """Titles and texts."""
    real = [(title, text) for title, text, tags in search_corpus.real_documents(folder)
            if len(text.split()) >= 30 and ("python" in tags or tags[-1] == "operation")]
    random.Random(SEED).shuffle(real)
    return real[:COUNT]


def judged(made):
    """The queries, each with the number of its passage among those that were made, from 1 on."""
    sums = {hashlib.sha256(text.encode()).hexdigest()[:12]: number for number, (_, text) in enumerate(made, 1)}
    missing = [query for query, _, sum in QUERIES if sum not in sums]
    if missing:
        raise ValueError(f"the packages have changed: no passage for {missing}")
    return [(query, sums[sum]) for query, _, sum in QUERIES]
