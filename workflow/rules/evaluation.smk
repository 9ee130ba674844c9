rule evaluate_methods:
    input:
        scores=pair.scores,
        benchmark=pair.texts,
        prefixes=pair.prefixes,
        answers=pair.answers,
        calibration=pair.calibration,
        manifest=pair.passes_shown,
    output:
        metrics="results/<study>/metrics/{model}/{benchmark}.parquet",
        tests="results/<study>/tests/{model}/{benchmark}.parquet",
        placebos="results/<study>/placebos/{model}/{benchmark}.parquet",
        estimates="results/<study>/estimates/{model}/{benchmark}.parquet",
        curves="results/<study>/curves/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/evaluate_methods/{model}/{benchmark}.log",
    priority: pair.priority_of_results
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("evaluate_methods"),
        study=STUDY.name,
        resamples=config["resamples"],
        pooled=lambda wildcards: PLAN.benchmark(wildcards.benchmark).entry.pooled,
        randomised=lambda wildcards: PLAN.benchmark(wildcards.benchmark).entry.randomised,
        placebos=lambda wildcards: PLAN.benchmark(wildcards.benchmark).entry.placebos,
        language=pair.language,
        shown=lambda wildcards: plan.cells_shown(STUDY, wildcards.model, wildcards.benchmark),
        draws_of_sets=lambda wildcards: plan.draws_of_sets(STUDY, wildcards.model, wildcards.benchmark),
        grid_intervals=lambda wildcards: plan.grid_intervals(STUDY, wildcards.model, wildcards.benchmark),
        asked=lambda wildcards: plan.estimates_asked(STUDY, wildcards.model, wildcards.benchmark),
        store="results/passes/store",
    script:
        "../../scripts/evaluate_methods.py"


rule measure_extraction:
    input:
        manifest=pair.passes,
        benchmark=pair.texts,
        checkpoint=pair.checkpoint,
        known=pair.held_windows,
    output:
        windows="results/<study>/windows/{model}/{benchmark}.parquet",
        summary="results/<study>/extraction/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/measure_extraction/{model}/{benchmark}.log",
    priority: pair.priority_of_results
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("measure_extraction"),
        extraction=pair.extraction,
        store="results/passes/store",
    script:
        "../../scripts/measure_extraction.py"
