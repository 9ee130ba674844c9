rule run_passes:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=model.tokenizer,
        seal=seal_of_study(),
        prefixes=pair.prefixes_read,
        completions=pair.completions,
        views=pair.views_read,
        # they only fill the store: the same passes come of one job and of three
        shares=only_before(pair.shares),
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


# One of the jobs that share a pair (`jobs` of a model's resources); run_passes then
# finds every chunk stored.
use rule run_passes as run_share with:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=model.tokenizer,
        seal=seal_of_study(),
        prefixes=pair.prefixes_read,
        completions=pair.completions,
        views=pair.views_read,
        answer=only_before(pair.answers_before),
        identity=identity("run_share", code=("run_passes",)),
    output:
        "results/passes/{model}/{benchmark}/<study>.{share}.json",
    log:
        "results/logs/run_passes/{model}/{benchmark}/<study>.{share}.log",


# A model behind an API that scores prompts: see questions.smk.
use rule run_passes as score_prompts with:
    log:
        "results/logs/score_prompts/{model}/{benchmark}/<study>.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "openai")),
    localrule: True
    threads: 1
