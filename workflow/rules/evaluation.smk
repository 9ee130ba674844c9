rule evaluate_methods:
    input:
        scores="results/<study>/scores/{model}/{benchmark}.parquet",
        benchmark=pair.benchmark.table,
        prefixes=pair.benchmark.prefixes,
        identity=identity("evaluate_methods"),
    output:
        metrics="results/<study>/metrics/{model}/{benchmark}.parquet",
        tests="results/<study>/tests/{model}/{benchmark}.parquet",
        placebos="results/<study>/placebos/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/evaluate_methods/{model}/{benchmark}.log",
    priority: pair.priority
    group:
        "evaluation"
    conda:
        "../../envs/pretrace.yaml"
    params:
        study=STUDY.name,
        resamples=config["resamples"],
        draws=pair.draws,
        pooled=benchmark.entry.pooled,
        placebos=benchmark.entry.placebos,
        language=benchmark.entry.language,
    script:
        "../../scripts/evaluate_methods.py"


rule compute_statistic:
    input:
        unpack(
            lambda wildcards: asked()
            .pair(wildcards.model, wildcards.benchmark)
            .read_by(wildcards.statistic)
        ),
        identity=identity(
            "compute_statistic",
            code=("compute_statistic", "evaluation/statistics.py", "{statistic}"),
        ),
    output:
        "results/<study>/{statistic}/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/compute_statistic/{statistic}/{model}/{benchmark}.log",
    wildcard_constraints:
        statistic=alternatives(STATISTICS),
    priority: pair.priority
    group:
        "evaluation"
    conda:
        "../../envs/pretrace.yaml"
    params:
        resamples=config["resamples"],
        options=pair.statistic_options,
        store="results/passes/store",
    script:
        "../../scripts/compute_statistic.py"


rule measure_extraction:
    input:
        manifest=pair.passes,
        benchmark=pair.benchmark.table,
        tokenizer=model.tokenizer,
        known=pair.held.windows,
        identity=identity("measure_extraction"),
    output:
        windows="results/<study>/windows/{model}/{benchmark}.parquet",
        summary="results/<study>/extraction/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/measure_extraction/{model}/{benchmark}.log",
    priority: pair.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        encoding=model.encoding,
        extraction=pair.extraction,
        store="results/passes/store",
    script:
        "../../scripts/measure_extraction.py"
