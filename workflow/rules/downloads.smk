# The machine that starts the workflow fetches all files, because the nodes of a cluster may have no network.
localrules:
    fetch_package,
    fetch_dataset,


rule fetch_package:
    output:
        "results/downloads/{file}",
    log:
        "results/logs/fetch_package/{file}.log",
    wildcard_constraints:
        file=alternatives(entry.file for entry in STUDY.downloads.values()),
    priority: SOON
    conda:
        "../../envs/pretrace.yaml"
    params:
        download=download_named,
        attempts=config["attempts"],
    script:
        "../../scripts/fetch_package.py"


rule fetch_dataset:
    output:
        "results/downloads/{benchmark}/{part}/files.json",
    log:
        "results/logs/fetch_dataset/{benchmark}/{part}.log",
    wildcard_constraints:
        benchmark=fetched_benchmarks(),
        part="texts|views",
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=benchmark_to_fetch,
        pins=pins,
        seed=config["seed"],
        attempts=config["attempts"],
    script:
        "../../scripts/fetch_dataset.py"
