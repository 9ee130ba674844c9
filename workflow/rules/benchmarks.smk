rule build_benchmark:
    input:
        source=benchmark.source,
        identity=identity("build_benchmark"),
    output:
        "results/benchmarks/{benchmark}.parquet",
    log:
        "results/logs/build_benchmark/{benchmark}.log",
    wildcard_constraints:
        benchmark=alternatives(PLAN.names_from("benchmarks", but=("answers",))),
    priority: benchmark.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=benchmark.building,
        seed=config["seed"],
    script:
        "../../scripts/build_benchmark.py"


# a benchmark without texts: documents and labels of the answers to its questions
rule gather_documents:
    input:
        answers=lambda wildcards: asked().answers_about(wildcards.benchmark).values(),
        identity=identity("gather_documents"),
    output:
        "results/benchmarks/{benchmark}.parquet",
    log:
        "results/logs/gather_documents/{benchmark}.log",
    wildcard_constraints:
        benchmark=alternatives(PLAN.names_from("benchmarks", "answers")),
    priority: benchmark.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        models=lambda wildcards: list(asked().answers_about(wildcards.benchmark)),
        seed=config["seed"],
    script:
        "../../scripts/gather_documents.py"
