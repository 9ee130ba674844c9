rule build_benchmark:
    input:
        source=lambda wildcards: paths.source(STUDY, BENCHMARKS[wildcards.benchmark], wildcards.benchmark),
    output:
        "results/benchmarks/{benchmark}.parquet",
    log:
        "results/logs/build_benchmark/{benchmark}.log",
    wildcard_constraints:
        benchmark=alternatives(name for name, entry in BENCHMARKS.items() if entry.source != "answers"),
    priority: priority_of("benchmark")
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("build_benchmark"),
        entry=lambda wildcards: BENCHMARKS[wildcards.benchmark].written(),
        seed=config["seed"],
    script:
        "../../scripts/build_benchmark.py"
