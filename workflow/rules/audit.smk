rule audit_texts:
    input:
        scores=pair.scores,
        benchmark=pair.texts,
        prefixes=pair.prefixes,
        known_scores=known_pair.scores,
        known=known_pair.texts,
        known_prefixes=known_pair.prefixes,
        positive_scores=pair.positive_scores,
        positive=pair.positive_texts,
    output:
        "results/<study>/audit/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/audit_texts/{model}/{benchmark}.log",
    priority: pair.priority
    params:
        code=code_digest("audit_texts"),
        runs=pair.run_parameters,
        known=pair.known,
        positive=pair.positive,
        language=benchmark_entry.language,
        randomised=benchmark_entry.randomised,
    script:
        "../../scripts/audit_texts.py"
