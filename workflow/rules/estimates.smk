# What a study will cost, estimated before anything is fetched or asked.
localrules:
    cost_estimate,
    compute_estimate,


# US dollars. No output, so that it always shows the store's current state.
rule cost_estimate:
    input:
        lambda wildcards: texts_of_apis(PLAN).values(),
    log:
        "results/<study>/logs/cost_estimate.log",
    params:
        work=lambda wildcards: api_work(PLAN),
        apis=PLAN.apis,
        benchmarks=lambda wildcards: list(texts_of_apis(PLAN)),
        answers="results/api/answers.sqlite",
        table=f"results/{STUDY.name}/cost_estimate.md",
    script:
        "../../scripts/estimate_cost.py"


# GPU hours, by artifact. No output, so that it always runs on the current configuration.
rule compute_estimate:
    log:
        "results/<study>/logs/compute_estimate.log",
    params:
        table=f"results/{STUDY.name}/compute_estimate.md",
    script:
        "../../scripts/estimate_compute.py"
