rule evaluate_methods:
    input:
        scores="results/{study}/scores/{model}/{benchmark}.parquet",
        benchmark=lambda wildcards: table_of(wildcards.benchmark),
        prefixes=lambda wildcards: prefixes_of(wildcards.benchmark),
    output:
        metrics="results/{study}/metrics/{model}/{benchmark}.parquet",
        tests="results/{study}/tests/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/evaluate_methods/{model}/{benchmark}.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=sources("benchmarks", "views", "methods", "questions", "evaluation"),
        resamples=config["resamples"],
        pooled=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].get("pooled", False),
        shown=lambda wildcards: plan.cells_shown(STUDY, wildcards.model, wildcards.benchmark),
        draws_of_sets=lambda wildcards: plan.draws_of_sets(STUDY, wildcards.model, wildcards.benchmark),
        grid_intervals=lambda wildcards: plan.grid_intervals(STUDY, wildcards.model, wildcards.benchmark),
    script:
        "../../scripts/evaluate_methods.py"
