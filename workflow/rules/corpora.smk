# Each job fetches one file of the hub. The file is deleted after counting and fetched
# again if another tokenizer needs it. Then the counts of every tokenizer and the scores
# are recomputed.
rule stream_shard:
    input:
        identity=identity("stream_shard", code=()),
    output:
        commit="results/corpora/{corpus}/commits/{shard}.json",
        documents=temp("results/corpora/{corpus}/documents/{shard}.parquet"),
    log:
        "results/logs/stream_shard/{corpus}/{shard}.log",
    wildcard_constraints:
        corpus=alternatives(PLAN.names_from("corpora", "hub")),
    priority: corpus.priority
    localrule: not STUDY.settings.nodes_download
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=lambda wildcards: asked()
        .corpus(wildcards.corpus)
        .fetched(wildcards.shard),
        shards=corpus.entry.shards,
        attempts=config["attempts"],
    script:
        "../../scripts/stream_shard.py"


rule write_documents:
    input:
        source=corpus.source,
        identity=identity("write_documents"),
    output:
        "results/corpora/{corpus}/documents/{shard}.parquet",
    log:
        "results/logs/write_documents/{corpus}/{shard}.log",
    wildcard_constraints:
        corpus=alternatives(PLAN.names_from("corpora", but=("hub",))),
    priority: corpus.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        entry=corpus.building,
        shards=corpus.entry.shards,
    script:
        "../../scripts/write_documents.py"


rule count_tokens:
    input:
        documents="results/corpora/{corpus}/documents/{shard}.parquet",
        checkpoint="results/models/{tokenizer}/checkpoint.json",
        identity=identity("count_tokens"),
    output:
        "results/corpora/{corpus}/counts/{tokenizer}/{shard}.parquet",
    log:
        "results/logs/count_tokens/{corpus}/{tokenizer}/{shard}.log",
    priority: corpus.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        encoding=lambda wildcards: asked().model(wildcards.tokenizer).encoding,
        max_tokens=corpus.entry.max_tokens,
    script:
        "../../scripts/count_tokens.py"


rule add_counts:
    input:
        counts=lambda wildcards: expand(
            "results/corpora/{corpus}/counts/{tokenizer}/{shard}.parquet",
            corpus=wildcards.corpus,
            tokenizer=wildcards.tokenizer,
            shard=range(PLAN.corpus(wildcards.corpus).entry.shards),
        ),
        identity=identity("add_counts"),
    output:
        "results/corpora/{corpus}/counts/{tokenizer}.parquet",
    log:
        "results/logs/add_counts/{corpus}/{tokenizer}.log",
    priority: corpus.priority
    conda:
        "../../envs/pretrace.yaml"
    script:
        "../../scripts/add_counts.py"
