# Requests to models behind OpenAI-compatible APIs. Every answer goes to one store,
# which is not a file of the DAG: a rerun, a higher budget or another study finds the
# paid answers there. The machine that starts the workflow sends the requests: the nodes
# of a cluster may have no network, and the store's locks hold within one machine.


rule answer_questions:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=model.tokenizer,
        seal=seal_of_study(),
        views=pair.views_of_options,
        prompts="<config>/prompts/de_cop.yaml",
        # they only fill the store: the same answers come of one job and of three
        shares=only_before(pair.answer_shares),
        identity=identity("answer_questions"),
    output:
        answers="results/answers/{model}/{benchmark}/<study>.parquet",
        # a table, which has an identity of its own: the answers are the same bytes
        # however long they took
        times="results/answers/{model}/{benchmark}/<study>.times.parquet",
    log:
        "results/logs/answer_questions/{model}/{benchmark}/<study>.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", but=("answers", "openai"))),
    priority: longest_first
    conda:
        "../../envs/pretrace.yaml"
    threads: model.resources.threads
    resources:
        gpu=model.resources.gpu,
        mem_mb=each_attempt(model.resources.mem_mb),
        runtime=minutes_left("answers"),
    params:
        requests=pair.answer_requests,
        kind=benchmark.entry.question,
        entry=model.answering,
        answers="results/api/answers.sqlite",
        store="results/answers/store",
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: a bf16 result
        # depends on it
        threads=model.resources.threads,
    script:
        "../../scripts/answer_questions.py"


# One of the jobs that share the questions of a pair; answer_questions then finds every
# answer stored.
use rule answer_questions as answer_share with:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=model.tokenizer,
        seal=seal_of_study(),
        views=pair.views_of_options,
        prompts="<config>/prompts/de_cop.yaml",
        identity=identity("answer_share", code=("answer_questions",)),
    output:
        "results/answers/{model}/{benchmark}/<study>.{share}.json",
    log:
        "results/logs/answer_questions/{model}/{benchmark}/<study>.{share}.log",


use rule answer_questions as ask_questions with:
    log:
        "results/logs/ask_questions/{model}/{benchmark}/<study>.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "openai")),
    localrule: True
    threads: 1


# A higher budget starts it again: it goes on where the budget was used up, and finds all else stored.
rule ask_to_go_on:
    input:
        benchmark=pair.benchmark.table,
        seal=seal_of_study(),
        prompts="<config>/prompts/given_back.yaml",
        identity=identity("ask_to_go_on"),
    output:
        summary="results/<study>/given_back/{model}/{benchmark}.parquet",
        continuations="results/<study>/continuations/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/ask_to_go_on/{model}/{benchmark}.log",
    priority: pair.priority
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=model.answering,
        given_back=pair.given_back,
        language=benchmark.entry.language,
        answers="results/api/answers.sqlite",
        budget=config["budget_usd"],
        seed=config["seed"],
    script:
        "../../scripts/ask_to_go_on.py"


rule import_answers:
    input:
        model.path,
        identity=identity("import_answers"),
    output:
        "results/answers/{model}/{benchmark}/<study>.parquet",
    log:
        "results/logs/import_answers/{model}/{benchmark}/<study>.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "answers")),
    priority: pair.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        column=model.column,
    script:
        "../../scripts/import_answers.py"


rule calibrate_answers:
    input:
        answers=pair.answers,
        benchmark=pair.benchmark.table,
        held_answers=pair.held.answers,
        held_benchmark=pair.held.benchmark.table,
        identity=identity("calibrate_answers"),
    output:
        "results/<study>/calibration/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/calibrate_answers/{model}/{benchmark}.log",
    priority: pair.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        runs=pair.run_parameters,
        given=pair.deltas,
    script:
        "../../scripts/calibrate_answers.py"
