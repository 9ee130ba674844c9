rule score_methods:
    input:
        manifest=pair.passes,
        benchmark=pair.benchmark.table,
        prefixes=pair.benchmark.prefixes,
        views=pair.views_read,
        inputs=pair.method_input_files,
        answers=pair.answers,
        calibration=pair.calibration,
        released_scores=model.released_scores,
        identity=identity("score_methods"),
    output:
        "results/<study>/scores/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/score_methods/{model}/{benchmark}.log",
    priority: pair.priority
    # the metrics wait for their scores alone: both are one submission
    group:
        "evaluation"
    conda:
        "../../envs/pretrace.yaml"
    params:
        runs=pair.run_parameters,
        inputs=pair.method_inputs,
        language=benchmark.entry.language,
        column=model.column,
        store="results/passes/store",
    script:
        "../../scripts/score_methods.py"
