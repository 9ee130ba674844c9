rule draw_prefixes:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
    output:
        "results/prefixes/{benchmark}.parquet",
    log:
        "results/logs/draw_prefixes/{benchmark}.log",
    priority: priority_of("benchmark")
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("draw_prefixes"),
        prefix=lambda wildcards: BENCHMARKS[wildcards.benchmark].prefix.written(),
        # benchmarks of one split share their draws, so that a part of the texts is read after the same shots
        split=lambda wildcards: BENCHMARKS[wildcards.benchmark].split or wildcards.benchmark,
    script:
        "../../scripts/draw_prefixes.py"


rule complete_openings:
    input:
        checkpoint="results/models/{model}/checkpoint.json",
        prompts="<config>/prompts/con_recall_zero_access.yaml",
    output:
        "results/completions/{model}/{benchmark}/{study}.parquet",
    log:
        "results/logs/complete_openings/{model}/{benchmark}/{study}.log",
    priority: priority_of("passes")
    conda:
        "../../envs/pretrace.yaml"
    threads: resource_of("threads", config["threads"])
    resources:
        gpu=resource_of("gpu", 0),
        mem_mb=more_each_attempt(resource_of("mem_mb", 4000)),
        runtime=more_each_attempt(resource_of("runtime", 240)),
    params:
        code=code_digest("complete_openings"),
        lengths=of_shared_pair(plan.completed_lengths),
        loading=loading_of,
        device=config["device"],
        threads=resource_of("threads", config["threads"]),
    script:
        "../../scripts/complete_openings.py"
