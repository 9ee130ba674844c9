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
    threads: resource_of("threads", config["threads"], entry_for_view)
    resources:
        gpu=resource_of("gpu", 0, entry_for_view),
        mem_mb=more_each_attempt(resource_of("mem_mb", 4000, entry_for_view)),
        runtime=more_each_attempt(resource_of("runtime", 240, entry_for_view)),
    params:
        code=code_digest("make_view"),
        device=config["device"],
        threads=resource_of("threads", config["threads"], entry_for_view),
    script:
        "../../scripts/make_view.py"


rule import_view:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        source=lambda wildcards: paths.source_of_view(
            STUDY, wildcards.view, BENCHMARKS[wildcards.benchmark], wildcards.benchmark
        ),
    output:
        "results/views/{benchmark}/{view}.parquet",
    log:
        "results/logs/import_view/{benchmark}/{view}.log",
    wildcard_constraints:
        benchmark=benchmarks_with_views(),
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("import_view"),
        entry=lambda wildcards: BENCHMARKS[wildcards.benchmark].written(),
    script:
        "../../scripts/import_view.py"
