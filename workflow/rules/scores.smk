rule score_methods:
    input:
        manifest=of_pair(paths.manifest),
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        references=of_pair(paths.references),
        counts=of_pair(paths.counts),
        shadows=of_pair(paths.shadows),
        prefixes=lambda wildcards: paths.prefixes(STUDY, wildcards.benchmark),
        views=of_pair(paths.views_scored),
        answers=of_pair(paths.answers),
        calibration=of_pair(paths.calibration),
    output:
        "results/{study}/scores/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/score_methods/{model}/{benchmark}.log",
    priority: priority_of_evaluation
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("score_methods"),
        runs=of_pair(plan.runs_for_jobs),
        references=of_pair(plan.references_of),
        corpora=of_pair(plan.corpora_of),
        shadows=of_pair(plan.shadows_of),
        language=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].language,
        store="results/passes/store",
    script:
        "../../scripts/score_methods.py"
