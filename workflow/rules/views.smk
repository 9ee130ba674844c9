rule make_view:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=lambda wildcards: f"results/models/{maker_of(wildcards.view)}/checkpoint.json",
    output:
        "results/views/{benchmark}/{view}.parquet",
    log:
        "results/logs/make_view/{benchmark}/{view}.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=sources("views"),
        device=config["device"],
    script:
        "../../scripts/make_view.py"
