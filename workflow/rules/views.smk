# A stored view is named by its benchmark and itself: sotu/synonym_by_smollm2-135m-10.
# It comes from a file, or a model makes or writes it; the script asks which. Requests
# to models behind APIs are sent by the machine that starts the workflow (see
# questions.smk).


rule make_view:
    input:
        benchmark=view.benchmark.table,
        source=view.source,
        checkpoint=view.writer.checkpoint,
        prompts=view.prompts,
        identity=identity("make_view"),
    output:
        "results/views/{view}.parquet",
    log:
        "results/logs/make_view/{view}.log",
    wildcard_constraints:
        view=alternatives(PLAN.views_made),
    priority: view.benchmark.priority
    conda:
        "../../envs/pretrace.yaml"
    threads: view.resources.threads
    resources:
        gpu=view.resources.gpu,
        mem_mb=each_attempt(view.resources.mem_mb),
        runtime=each_attempt(view.resources.runtime),
    params:
        benchmark=view.benchmark.name,
        view=view.name,
        way=view.way,
        entry=view.entry,
        answers="results/api/answers.sqlite",
        store="results/answers/store",
        device=config["device"],
        batch_tokens=config["batch_tokens"],
        # not the directive's value, which Snakemake lowers to --cores: the written text
        # depends on it
        threads=view.resources.threads,
    script:
        "../../scripts/make_view.py"


use rule make_view as get_view with:
    log:
        "results/logs/get_view/{view}.log",
    wildcard_constraints:
        view=alternatives(PLAN.views_got),
    localrule: True
