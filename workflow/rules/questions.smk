rule answer_questions:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint="results/models/{model}/checkpoint.json",
        seal=seal_of_study(),
        views=of_shared_pair(paths.views_of_options),
        prompts="<config>/prompts/de_cop.yaml",
    output:
        answers="results/answers/{model}/{benchmark}/{study}.parquet",
        times="results/answers/{model}/{benchmark}/{study}.json",
    log:
        "results/logs/answer_questions/{model}/{benchmark}/{study}.log",
    wildcard_constraints:
        model=models_except("openai", "answers"),
    priority: priority_of("answers")
    conda:
        "../../envs/pretrace.yaml"
    threads: resource_of("threads", config["threads"])
    resources:
        gpu=resource_of("gpu", 0),
        mem_mb=more_each_attempt(resource_of("mem_mb", 4000)),
        runtime=more_each_attempt(resource_of("runtime", 240)),
    params:
        code=code_digest("answer_questions"),
        requests=of_shared_pair(plan.answer_requests),
        kind=lambda wildcards: BENCHMARKS[wildcards.benchmark]["question"],
        entry=lambda wildcards: answering_settings(MODELS[wildcards.model]),
        answers="results/api/answers.sqlite",
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: a bf16 result depends on it
        threads=resource_of("threads", config["threads"]),
    script:
        "../../scripts/answer_questions.py"


rule import_answers:
    input:
        lambda wildcards: MODELS[wildcards.model]["path"],
    output:
        "results/answers/{model}/{benchmark}/{study}.parquet",
    log:
        "results/logs/import_answers/{model}/{benchmark}/{study}.log",
    wildcard_constraints:
        model=models_from("answers"),
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("import_answers"),
    script:
        "../../scripts/import_answers.py"


rule gather_documents:
    input:
        answers=lambda wildcards: [paths.answers(STUDY, *pair) for pair in pairs_on(wildcards.benchmark)],
    output:
        "results/benchmarks/{benchmark}.parquet",
    log:
        "results/logs/gather_documents/{benchmark}.log",
    wildcard_constraints:
        benchmark=benchmarks_from("answers"),
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("gather_documents"),
        models=lambda wildcards: [model for model, _ in pairs_on(wildcards.benchmark)],
        seed=config["seed"],
    script:
        "../../scripts/gather_documents.py"


rule calibrate_answers:
    input:
        answers=of_pair(paths.answers),
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        held_answers=lambda wildcards: calibration_input(wildcards, paths.answers),
        held_benchmark=lambda wildcards: calibration_input(
            wildcards, lambda study, model, benchmark: paths.table(study, benchmark)
        ),
    output:
        "results/{study}/calibration/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/calibrate_answers/{model}/{benchmark}.log",
    priority: priority_of_evaluation
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("calibrate_answers"),
        runs=of_pair(plan.runs_for_jobs),
        given=of_pair(plan.calibration_of),
    script:
        "../../scripts/calibrate_answers.py"
