rule render_table:
    input:
        files=lambda wildcards: [path for *_, path in reads_of(wildcards.artifact)],
    output:
        csv="results/{study}/tables/{artifact}.csv",
        md="results/{study}/tables/{artifact}.md",
        tex=report(
            "results/{study}/tables/{artifact}.tex",
            caption="../report/table.rst",
            category="Tables",
            labels={"artifact": "{artifact}"},
        ),
        html="results/{study}/tables/{artifact}.html",
    log:
        "results/{study}/logs/render_table/{artifact}.log",
    wildcard_constraints:
        artifact=alternatives(plan.artifacts_of_kind(STUDY, "table")),
    priority: priority_of_artifact
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("render_artifact"),
        artifact=lambda wildcards: STUDY.artifacts[wildcards.artifact].plain(),
        reads=lambda wildcards: reads_of(wildcards.artifact),
        entries=benchmark_entries,
        announced=lambda wildcards: wildcards.artifact in priorities(STUDY).first,
    script:
        "../../scripts/render_artifact.py"


rule render_figure:
    input:
        files=lambda wildcards: [path for *_, path in reads_of(wildcards.artifact)],
    output:
        csv="results/{study}/figures/{artifact}.csv",
        pdf="results/{study}/figures/{artifact}.pdf",
        png="results/{study}/figures/{artifact}.png",
        svg=report(
            "results/{study}/figures/{artifact}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"artifact": "{artifact}"},
        ),
        txt="results/{study}/figures/{artifact}.txt",
    log:
        "results/{study}/logs/render_figure/{artifact}.log",
    wildcard_constraints:
        artifact=alternatives(plan.artifacts_of_kind(STUDY, "figure")),
    priority: priority_of_artifact
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("render_artifact"),
        artifact=lambda wildcards: STUDY.artifacts[wildcards.artifact].plain(),
        reads=lambda wildcards: reads_of(wildcards.artifact),
        entries=benchmark_entries,
        announced=lambda wildcards: wildcards.artifact in priorities(STUDY).first,
    script:
        "../../scripts/render_artifact.py"


rule record_provenance:
    input:
        manifests=lambda wildcards: [paths.manifest(STUDY, *pair) for pair in plan.pass_pairs(STUDY)],
        read_of_hub=lambda wildcards: paths.checkpoints_of_study(STUDY)
        + paths.fetched_of_study(STUDY)
        + paths.streamed_of_study(STUDY),
        # not read: the record is rewritten whenever the results change
        tables=TABLES,
        figures=FIGURES,
        study=str(STUDY.path),
    output:
        provenance="results/{study}/provenance.json",
        # the old file is kept while the job runs, because the run may read it
        revisions=update("results/{study}/revisions.yaml"),
    log:
        "results/{study}/logs/record_provenance.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("record_provenance"),
        config=config,
        pins=pins,
    script:
        "../../scripts/record_provenance.py"


rule render_report:
    input:
        tables=TABLES,
        figures=FIGURES,
        provenance="results/{study}/provenance.json",
        prefixes=[paths.prefixes(STUDY, benchmark) for benchmark in plan.benchmarks_with_shots(STUDY)],
        study=str(STUDY.path),
        seals=paths.seals(STUDY) if plan.is_sealed(STUDY) else [],
    output:
        report="results/{study}/report.html",
        headline="results/{study}/headline.txt",
    log:
        "results/{study}/logs/render_report.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        code=code_digest("render_report"),
        title=STUDY.title,
        artifacts=[artifact.plain() for artifact in STUDY.artifacts.values()],
        names=report_glossary,
        left_out=plan.left_out(STUDY),
        shots=plan.benchmarks_with_shots(STUDY),
    script:
        "../../scripts/render_report.py"
