localrules:
    fetch_package,


rule fetch_package:
    output:
        "results/downloads/{file}",
    log:
        "results/logs/fetch_package/{file}.log",
    wildcard_constraints:
        file=alternatives(entry["file"] for entry in STUDY.downloads.values()),
    conda:
        "../../envs/pretrace.yaml"
    params:
        download=download_named,
        attempts=config["attempts"],
    script:
        "../../scripts/fetch_package.py"
