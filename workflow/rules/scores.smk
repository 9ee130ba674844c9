rule score_methods:
    input:
        manifest=of_pair(paths.manifest),
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        prefixes=lambda wildcards: paths.prefixes(STUDY, wildcards.benchmark),
        views=of_pair(paths.views_read),
        inputs=of_pair(paths.method_input_files),
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
        inputs=of_pair(paths.method_inputs),
        language=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].get("language", "en"),
        store="results/passes/store",
    script:
        "../../scripts/score_methods.py"
