rule run_passes:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=model.tokenizer,
        seal=seal_of_study(),
        prefixes=pair.prefixes_read,
        completions=pair.completions,
        views=pair.views_read,
        # they only fill the store: the same passes come of one job and of three
        filled=only_before(lambda wildcards: asked().filled_before(pair(wildcards))),
        answer=only_before(pair.answers_before),
        identity=identity("run_passes"),
    output:
        "results/passes/{model}/{benchmark}/<study>.json",
    log:
        "results/logs/run_passes/{model}/{benchmark}/<study>.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", but=("answers", "openai"))),
    priority: longest_first
    conda:
        "../../envs/pretrace.yaml"
    threads: model.resources.threads
    resources:
        gpu=model.resources.gpu,
        mem_mb=each_attempt(model.resources.mem_mb),
        runtime=minutes_left("passes"),
    params:
        study=STUDY.name,
        requests=pair.pass_requests,
        store="results/passes/store",
        answers="results/api/answers.sqlite",
        entry=model.answering,
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: a bf16 result
        # depends on it
        threads=model.resources.threads,
    script:
        "../../scripts/run_passes.py"


# One job reads the benchmarks of a model that have the same turn (`Pair.turn`);
# run_passes then finds every chunk stored. It waits for no benchmark: it reads those
# that are ready, and those that become ready meanwhile, so that one which fails or
# takes long holds up no other. It does not run again for other texts or requests, which
# the jobs of their pairs read.
rule fill_store:
    input:
        checkpoint="results/models/{model}/checkpoint.json",
        seal=seal_of_study(),
        completions=only_before(
            filled_together(lambda pairs: paths([pair.completions for pair in pairs]))
        ),
        identity=identity("fill_store"),
    output:
        "results/passes/{model}/<study>.{turn}.json",
    log:
        "results/logs/fill_store/{model}/<study>.{turn}.log",
    wildcard_constraints:
        turn=r"first\d+|rest",
    priority: longest_first
    conda:
        "../../envs/pretrace.yaml"
    threads: model.resources.threads
    resources:
        gpu=model.resources.gpu,
        mem_mb=each_attempt(model.resources.mem_mb),
        runtime=lambda wildcards, attempt: filled_together(
            lambda pairs: minutes_of_fill(pairs, attempt)
        )(wildcards),
    params:
        benchmarks=filled_together(
            lambda pairs: [pair.benchmark.name for pair in pairs]
        ),
        pairs=Apart(filled_together(lambda pairs: [pair.filling() for pair in pairs])),
        study=STUDY.name,
        store="results/passes/store",
        entry=model.loading,
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: a bf16 result
        # depends on it
        threads=model.resources.threads,
    script:
        "../../scripts/fill_store.py"


# One of the jobs that share a pair (`jobs` of a model's resources).
use rule fill_store as run_share with:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=model.tokenizer,
        seal=seal_of_study(),
        prefixes=pair.prefixes_read,
        completions=pair.completions,
        views=pair.views_read,
        answer=only_before(pair.answers_before),
        identity=identity("run_share", code=("fill_store",)),
    output:
        "results/passes/{model}/{benchmark}/<study>.{share}.json",
    log:
        "results/logs/run_passes/{model}/{benchmark}/<study>.{share}.log",
    resources:
        gpu=model.resources.gpu,
        mem_mb=each_attempt(model.resources.mem_mb),
        runtime=minutes_left("passes"),
    params:
        benchmarks=lambda wildcards: [wildcards.benchmark],
        requests=pair.pass_requests,
        pairs=Apart(lambda wildcards: [pair(wildcards).filling(wildcards.share)]),


# A model behind an API that scores prompts: see questions.smk.
use rule run_passes as score_prompts with:
    log:
        "results/logs/score_prompts/{model}/{benchmark}/<study>.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "openai")),
    localrule: True
    threads: 1
