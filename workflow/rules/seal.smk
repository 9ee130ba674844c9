localrules:
    seal_plan,


rule seal_plan:
    input:
        texts=paths.user_texts(STUDY),
        checkpoints=paths.sealed_checkpoints(STUDY),
    output:
        # earlier seals are kept, and the new one follows them
        update("results/{study}/seals.json"),
    log:
        "results/{study}/logs/seal_plan.log",
    priority: 1000000
    conda:
        "../../envs/pretrace.yaml"
    params:
        plan=plan.sealed_plan(STUDY, config),
    script:
        "../../scripts/seal_plan.py"
