rule score_methods:
    input:
        manifest=pair.passes,
        benchmark=pair.texts,
        references=pair.reference_passes,
        counts=pair.counts,
        shadows=pair.shadow_likelihoods,
        prefixes=pair.prefixes,
        views=pair.views_scored,
        answers=pair.answers,
        calibration=pair.calibration,
    output:
        "results/<study>/scores/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/score_methods/{model}/{benchmark}.log",
    priority: pair.priority_of_results
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("score_methods"),
        runs=pair.run_parameters,
        references=pair.references,
        corpora=pair.corpora,
        shadows=pair.shadows,
        language=pair.language,
        store="results/passes/store",
    script:
        "../../scripts/score_methods.py"
