rule seal_plan:
    input:
        texts=PLAN.user_texts,
        checkpoints=PLAN.sealed_checkpoints,
        identity=identity("seal_plan", code=()),
    output:
        # earlier seals are kept, and the new one follows them
        update("results/<study>/seals.json"),
    log:
        "results/<study>/logs/seal_plan.log",
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    params:
        plan=PLAN.sealed(config),
        base=PLAN.checked_base,
    script:
        "../../scripts/seal_plan.py"
