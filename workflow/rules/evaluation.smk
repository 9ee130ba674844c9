rule evaluate_methods:
    input:
        scores="results/{study}/scores/{model}/{benchmark}.parquet",
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        prefixes=lambda wildcards: paths.prefixes(STUDY, wildcards.benchmark),
        answers=of_pair(paths.answers),
        calibration=of_pair(paths.calibration),
        manifest=of_pair(paths.manifest_shown),
    output:
        metrics="results/{study}/metrics/{model}/{benchmark}.parquet",
        tests="results/{study}/tests/{model}/{benchmark}.parquet",
        placebos="results/{study}/placebos/{model}/{benchmark}.parquet",
        estimates="results/{study}/estimates/{model}/{benchmark}.parquet",
        curves="results/{study}/curves/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/evaluate_methods/{model}/{benchmark}.log",
    priority: priority_of_evaluation
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("evaluate_methods"),
        resamples=config["resamples"],
        pooled=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].pooled,
        randomised=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].randomised,
        placebos=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].placebos,
        language=lambda wildcards: STUDY.benchmarks.entries[wildcards.benchmark].language,
        shown=of_pair(plan.cells_shown),
        draws_of_sets=of_pair(plan.draws_of_sets),
        grid_intervals=of_pair(plan.grid_intervals),
        asked=of_pair(plan.estimates_asked),
        store="results/passes/store",
    script:
        "../../scripts/evaluate_methods.py"


rule measure_extraction:
    input:
        manifest=of_pair(paths.manifest),
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        checkpoint=lambda wildcards: paths.checkpoint(STUDY.models.shared[wildcards.model]),
        known=lambda wildcards: calibration_input(wildcards, windows_of_pair),
    output:
        windows="results/{study}/windows/{model}/{benchmark}.parquet",
        summary="results/{study}/extraction/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/measure_extraction/{model}/{benchmark}.log",
    priority: priority_of_evaluation
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("measure_extraction"),
        extraction=of_pair(plan.extraction_of),
        store="results/passes/store",
    script:
        "../../scripts/measure_extraction.py"
