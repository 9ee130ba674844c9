# The machine that starts the workflow fetches all files, because the nodes of a cluster
# may have no network. (`localrules:` would lose them in a module with other names.)


# No output, so that it always asks.
rule check_hub:
    log:
        "results/<study>/logs/check_hub.log",
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        partitions=partition_file,
    script:
        "../../scripts/check_hub.py"


rule fetch_package:
    output:
        "results/downloads/{file}",
    log:
        "results/logs/fetch_package/{file}.log",
    wildcard_constraints:
        file=alternatives(download.file for download in STUDY.downloads.values()),
    # it waits for the network, and all else waits for it
    priority: FIRST
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        download=lambda wildcards: asked().download(wildcards.file),
        attempts=config["attempts"],
    script:
        "../../scripts/fetch_package.py"


rule fetch_dataset:
    input:
        identity=identity("fetch_dataset", code=()),
    output:
        "results/downloads/{benchmark}/{part}/files.json",
    log:
        "results/logs/fetch_dataset/{benchmark}/{part}.log",
    wildcard_constraints:
        part="texts|views",
    priority: benchmark.priority
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=lambda wildcards: asked()
        .benchmark(wildcards.benchmark)
        .fetched(wildcards.part),
        seed=config["seed"],
        attempts=config["attempts"],
    script:
        "../../scripts/fetch_dataset.py"
