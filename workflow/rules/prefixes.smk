rule draw_prefixes:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        identity=identity("draw_prefixes"),
    output:
        "results/prefixes/{benchmark}.parquet",
    log:
        "results/logs/draw_prefixes/{benchmark}.log",
    priority: benchmark.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        prefix=benchmark.prefix,
        split=benchmark.split,
    script:
        "../../scripts/draw_prefixes.py"


rule complete_openings:
    input:
        checkpoint="results/models/{model}/checkpoint.json",
        prompts="<config>/prompts/con_recall_zero_access.yaml",
        identity=identity("complete_openings"),
    output:
        "results/completions/{model}/{benchmark}/<study>.parquet",
    log:
        "results/logs/complete_openings/{model}/{benchmark}/<study>.log",
    priority: pair.priority
    conda:
        "../../envs/pretrace.yaml"
    threads: model.resources.threads
    resources:
        gpu=model.resources.gpu,
        mem_mb=each_attempt(model.resources.mem_mb),
        runtime=each_attempt(model.resources.runtime),
    params:
        lengths=pair.completed_lengths,
        loading=model.loading,
        device=config["device"],
        # not the directive's value, which Snakemake lowers to --cores: a bf16 result
        # depends on it
        threads=model.resources.threads,
    script:
        "../../scripts/complete_openings.py"
