# The GPU hours of a study, by artifact, estimated before anything is fetched.
localrules:
    compute_estimate,


# no output, so that it always runs on the current configuration
rule compute_estimate:
    log:
        f"results/{STUDY.name}/logs/compute_estimate.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        table=f"results/{STUDY.name}/compute_estimate.md",
    script:
        "../../scripts/estimate_compute.py"
