# Requests to models behind OpenAI-compatible APIs. Every answer goes to one store, which is not a file of the DAG: a
# rerun, a higher budget or another study finds the paid answers there. The machine that starts the workflow sends the
# requests: the nodes of a cluster may have no network, and the store's locks hold within one machine.
localrules:
    cost_estimate,
    score_prompts,
    ask_questions,
    ask_for_paraphrases,
    ask_for_continuations,


rule score_prompts:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        tokenizer=tokenizer_of_api,
        prefixes=of_shared_pair(paths.prefixes_read),
        views=of_shared_pair(paths.views_read),
    output:
        "results/passes/{model}/{benchmark}/{study}.json",
    log:
        "results/logs/score_prompts/{model}/{benchmark}/{study}.log",
    wildcard_constraints:
        model=models_from("openai"),
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("score_prompts"),
        requests=of_shared_pair(plan.requests_for_jobs),
        store="results/passes/store",
        answers="results/api/answers.sqlite",
        api=lambda wildcards: MODELS[wildcards.model]["api"],
        max_length=lambda wildcards: MODELS[wildcards.model].get("max_length"),
        batch_tokens=config["batch_tokens"],
    script:
        "../../scripts/score_prompts.py"


rule ask_questions:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        tokenizer=tokenizer_of_api,
        views=of_shared_pair(paths.views_of_options),
        prompts="<config>/prompts/de_cop.yaml",
    output:
        answers="results/answers/{model}/{benchmark}/{study}.parquet",
        times="results/answers/{model}/{benchmark}/{study}.json",
    log:
        "results/logs/ask_questions/{model}/{benchmark}/{study}.log",
    wildcard_constraints:
        model=models_from("openai"),
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("ask_questions"),
        requests=of_shared_pair(plan.answer_requests),
        kind=lambda wildcards: BENCHMARKS[wildcards.benchmark]["question"],
        answers="results/api/answers.sqlite",
        api=lambda wildcards: MODELS[wildcards.model]["api"],
    script:
        "../../scripts/ask_questions.py"


ruleorder: import_view > write_paraphrases > ask_for_paraphrases > continue_texts > ask_for_continuations


rule write_paraphrases:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=checkpoint_of_writer,
        prompts="<config>/prompts/paraphrase.yaml",
    output:
        "results/views/{benchmark}/paraphrase_by_{writer}.parquet",
    log:
        "results/logs/write_paraphrases/{benchmark}/{writer}.log",
    wildcard_constraints:
        writer=models_that_write(behind_api=False),
    conda:
        "../../envs/pretrace.yaml"
    threads: resource_of("threads", config["threads"], writer_entry)
    resources:
        gpu=resource_of("gpu", 0, writer_entry),
        mem_mb=more_each_attempt(resource_of("mem_mb", 4000, writer_entry)),
        runtime=more_each_attempt(resource_of("runtime", 240, writer_entry)),
    params:
        code=code_digest("write_view"),
        answers="results/api/answers.sqlite",
        model=lambda wildcards: wildcards.writer,
        entry=writer_settings,
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: the written text depends on it
        threads=resource_of("threads", config["threads"], writer_entry),
    script:
        "../../scripts/write_view.py"


use rule write_paraphrases as ask_for_paraphrases with:
    log:
        "results/logs/ask_for_paraphrases/{benchmark}/{writer}.log",
    wildcard_constraints:
        writer=models_that_write(behind_api=True),


use rule write_paraphrases as continue_texts with:
    input:
        benchmark="results/benchmarks/{benchmark}.parquet",
        checkpoint=checkpoint_of_writer,
        prompts="<config>/prompts/de_cop.yaml",
    output:
        "results/views/{benchmark}/continuations_by_{writer}-{samples}.parquet",
    log:
        "results/logs/continue_texts/{benchmark}/{writer}-{samples}.log",
    wildcard_constraints:
        writer=models_that_write(behind_api=False),
        samples=r"\d+",


use rule continue_texts as ask_for_continuations with:
    log:
        "results/logs/ask_for_continuations/{benchmark}/{writer}-{samples}.log",
    wildcard_constraints:
        writer=models_that_write(behind_api=True),
        samples=r"\d+",


# no output, so that it always shows the store's current state
rule cost_estimate:
    input:
        lambda wildcards: [paths.table(STUDY, benchmark) for benchmark in benchmarks_of_apis()],
    log:
        f"results/{STUDY.name}/logs/cost_estimate.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        work=lambda wildcards: api_work(STUDY),
        apis={slug: entry["api"] for slug, entry in STUDY.models.entries.items() if "api" in entry},
        benchmarks=lambda wildcards: benchmarks_of_apis(),
        answers="results/api/answers.sqlite",
        table=f"results/{STUDY.name}/cost_estimate.md",
    script:
        "../../scripts/estimate_cost.py"
