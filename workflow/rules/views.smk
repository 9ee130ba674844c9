rule make_view:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=lambda wildcards: paths.checkpoint(VIEWS[wildcards.view].model),
    output:
        "results/views/{benchmark}/{view}.parquet",
    log:
        "results/logs/make_view/{benchmark}/{view}.log",
    wildcard_constraints:
        view=r"(synonym|substitution|neighbours)_by_.+-\d+",
    priority: priority_of("benchmark")
    conda:
        "../../envs/pretrace.yaml"
    threads: asked("threads", config["threads"], entry_for_view)
    resources:
        gpu=asked("gpu", 0, entry_for_view),
        mem_mb=growing(asked("mem_mb", 4000, entry_for_view)),
        runtime=growing(asked("runtime", 240, entry_for_view)),
    params:
        code=sources("models", "views"),
        device=config["device"],
        threads=asked("threads", config["threads"], entry_for_view),
    script:
        "../../scripts/make_view.py"


rule bring_view:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        source=lambda wildcards: paths.source_of_view(
            STUDY, wildcards.view, BENCHMARKS[wildcards.benchmark], wildcards.benchmark
        ),
    output:
        "results/views/{benchmark}/{view}.parquet",
    log:
        "results/logs/bring_view/{benchmark}/{view}.log",
    wildcard_constraints:
        benchmark=bringing_benchmarks(),
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=sources("benchmarks", "views"),
        entry=lambda wildcards: BENCHMARKS[wildcards.benchmark],
    script:
        "../../scripts/bring_view.py"
