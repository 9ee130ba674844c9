# What a study will take, estimated before anything is fetched, run or asked.
# No output, so that it always shows the present configuration and the store's state.
rule estimate:
    input:
        lambda wildcards: measured(asked()).values(),
    log:
        "results/<study>/logs/estimate.log",
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        answers="results/api/answers.sqlite",
        table=f"results/{STUDY.name}/estimate.md",
    script:
        "../../scripts/estimate.py"
