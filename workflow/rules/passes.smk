rule run_passes:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint="results/models/{model}/checkpoint.json",
        seal=seal_of_study(),
        prefixes=of_shared_pair(paths.prefixes_read),
        completions=of_shared_pair(paths.completions),
        views=of_shared_pair(paths.views_read),
    output:
        "results/passes/{model}/{benchmark}/{study}.json",
    log:
        "results/logs/run_passes/{model}/{benchmark}/{study}.log",
    wildcard_constraints:
        model=models_except("openai"),
    priority: priority_of("passes")
    conda:
        "../../envs/pretrace.yaml"
    threads: resource_of("threads", config["threads"])
    resources:
        gpu=resource_of("gpu", 0),
        mem_mb=more_each_attempt(resource_of("mem_mb", 4000)),
        runtime=more_each_attempt(resource_of("runtime", 240)),
    params:
        code=code_digest("run_passes"),
        requests=of_shared_pair(plan.requests_for_jobs),
        store="results/passes/store",
        loading=loading_of,
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: a bf16 result depends on it
        threads=resource_of("threads", config["threads"]),
    script:
        "../../scripts/run_passes.py"
