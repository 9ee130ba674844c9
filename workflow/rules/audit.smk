rule audit_texts:
    input:
        scores="results/<study>/scores/{model}/{benchmark}.parquet",
        benchmark=pair.benchmark.table,
        prefixes=pair.benchmark.prefixes,
        known_scores=pair.known.scores,
        known=pair.known.benchmark.table,
        known_prefixes=pair.known.benchmark.prefixes,
        positive_scores=pair.positive.scores,
        positive=pair.positive.benchmark.table,
        identity=identity("audit_texts"),
    output:
        "results/<study>/audit/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/audit_texts/{model}/{benchmark}.log",
    priority: pair.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        runs=pair.run_parameters,
        known=pair.known.benchmark_slug,
        positive=pair.positive.benchmark_slug,
        language=benchmark.entry.language,
        randomised=benchmark.entry.randomised,
    script:
        "../../scripts/audit_texts.py"
