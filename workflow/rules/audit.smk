rule audit_texts:
    input:
        scores=pair.scores,
        benchmark=pair.texts,
        prefixes=pair.prefixes,
        known_scores=pair.known_scores,
        known=pair.known_texts,
        known_prefixes=pair.known_prefixes,
        positive_scores=pair.positive_scores,
        positive=pair.positive_texts,
    output:
        "results/<study>/audit/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/audit_texts/{model}/{benchmark}.log",
    priority: pair.priority_of_results
    params:
        code=code_digest("audit_texts"),
        runs=pair.run_parameters,
        known=pair.known,
        positive=pair.positive,
        language=benchmark_entry.language,
    script:
        "../../scripts/audit_texts.py"
