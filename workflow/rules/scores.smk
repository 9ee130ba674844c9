rule score_methods:
    input:
        manifest=manifest_for_scores,
        benchmark=lambda wildcards: table_of(wildcards.benchmark),
        references=lambda wildcards: [
            manifest_of(model, wildcards.benchmark) for model in references_of(wildcards)
        ],
        counts=lambda wildcards: [counts_of(corpus, wildcards.model) for corpus in corpora_of(wildcards)],
        prefixes=lambda wildcards: prefixes_of(wildcards.benchmark),
        views=views_for_scores,
        answers=lambda wildcards: answers_of(wildcards.model, wildcards.benchmark),
        calibration=lambda wildcards: calibration_of(wildcards.model, wildcards.benchmark),
    output:
        "results/{study}/scores/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/score_methods/{model}/{benchmark}.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=sources("benchmarks", "corpora", "views", "passes", "methods", "questions"),
        runs=runs_of,
        references=references_of,
        corpora=corpora_of,
        language=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].get("language", "en"),
        store="results/passes/store",
    script:
        "../../scripts/score_methods.py"
