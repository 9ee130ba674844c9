rule audit_texts:
    input:
        scores="results/{study}/scores/{model}/{benchmark}.parquet",
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        prefixes=lambda wildcards: paths.prefixes(STUDY, wildcards.benchmark),
        known_scores=lambda wildcards: (
            f"results/{wildcards.study}/scores/{wildcards.model}/{known_benchmark(wildcards)}.parquet"
        ),
        known=lambda wildcards: paths.table(STUDY, known_benchmark(wildcards)),
        known_prefixes=lambda wildcards: paths.prefixes(STUDY, known_benchmark(wildcards)),
        positive_scores=lambda wildcards: positive_input(wildcards, paths.scores),
        positive=lambda wildcards: positive_input(wildcards, paths.table_of_pair),
    output:
        "results/{study}/audit/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/audit_texts/{model}/{benchmark}.log",
    priority: priority_of_evaluation
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("audit_texts"),
        runs=of_pair(plan.runs_for_jobs),
        known=lambda wildcards: known_benchmark(wildcards),
        positive=lambda wildcards: plan.positive_control_of(STUDY, wildcards.model, wildcards.benchmark),
        language=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].language,
    script:
        "../../scripts/audit_texts.py"
