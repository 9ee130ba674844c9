# What cannot be shown leaves the rest: the files say why, and the record does.
rule render_table:
    input:
        files=rendering.files,
        views=rendering.view_files,
        identity=identity("render_table", code=("render_artifact",)),
    output:
        record="results/<study>/rendered/{artifact}.json",
        csv="results/<study>/tables/{artifact}.csv",
        md="results/<study>/tables/{artifact}.md",
        tex="results/<study>/tables/{artifact}.tex",
        html=report(
            "results/<study>/tables/{artifact}.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"artifact": "{artifact}"},
        ),
    log:
        "results/<study>/logs/render_table/{artifact}.log",
    wildcard_constraints:
        artifact=alternatives(PLAN.artifacts_of("table")),
    priority: rendering.priority
    conda:
        "../../envs/pretrace.yaml"
    params:
        artifact=rendering.artifact,
        reads=rendering.reads,
        entries=rendering.entries,
        views=rendering.views,
        tells_answer=lambda wildcards: PLAN.tells_first(wildcards.artifact),
    script:
        "../../scripts/render_artifact.py"


use rule render_table as render_figure with:
    input:
        files=rendering.files,
        views=rendering.view_files,
        identity=identity("render_figure", code=("render_artifact",)),
    output:
        record="results/<study>/rendered/{artifact}.json",
        csv="results/<study>/figures/{artifact}.csv",
        pdf="results/<study>/figures/{artifact}.pdf",
        png="results/<study>/figures/{artifact}.png",
        svg=report(
            "results/<study>/figures/{artifact}.svg",
            caption="../report/figure.rst",
            category="Figures",
            labels={"artifact": "{artifact}"},
        ),
        txt="results/<study>/figures/{artifact}.txt",
    log:
        "results/<study>/logs/render_figure/{artifact}.log",
    wildcard_constraints:
        artifact=alternatives(PLAN.artifacts_of("figure")),


rule record_provenance:
    input:
        manifests=[pair.passes for pair in PLAN.reading_pairs],
        read_of_hub=PLAN.records_of_hub,
        # not read: the record is rewritten whenever the results change
        records=PLAN.records_of_rendering("all"),
        identity=identity("record_provenance"),
    output:
        provenance="results/<study>/provenance.json",
        # the old file is kept while the job runs, because the run may read it
        revisions=update("results/<study>/revisions.yaml"),
    log:
        "results/<study>/logs/record_provenance.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        config=config,
        configuration=configuration,
    script:
        "../../scripts/record_provenance.py"


rule render_report:
    input:
        records=PLAN.records_of_rendering("all"),
        # of which the records have the SHA-256
        tables=ancient(PLAN.tables),
        figures=ancient(PLAN.figures),
        provenance="results/<study>/provenance.json",
        prefixes=PLAN.prefixes,
        scores=PLAN.listed.scores if PLAN.listed else [],
        texts=PLAN.listed.benchmark.table if PLAN.listed else [],
        seals="results/<study>/seals.json" if PLAN.is_sealed else [],
        identity=identity("render_report"),
    output:
        report="results/<study>/report.html",
        headline="results/<study>/headline.txt",
    log:
        "results/<study>/logs/render_report.log",
    conda:
        "../../envs/pretrace.yaml"
    params:
        study=STUDY.name,
        title=lambda wildcards: STUDY.title,
        configuration=configuration,
        artifacts=[artifact.to_json() for artifact in STUDY.artifacts.values()],
        left_out=PLAN.left_out,
        shots=PLAN.benchmarks_with_shots,
        listing=PLAN.listing,
    script:
        "../../scripts/render_report.py"


# The last job of `all`, `tables` and `figures` fails if a table or figure did, and
# makes the next run render it again.
rule check_artifacts:
    input:
        records=lambda wildcards: PLAN.records_of_rendering(wildcards.target),
        report=lambda wildcards: (
            rules.render_report.output.report if wildcards.target == "all" else []
        ),
        identity=identity("check_artifacts", code=()),
    output:
        "results/<study>/rendered/{target}.txt",
    log:
        "results/<study>/logs/check_artifacts/{target}.log",
    wildcard_constraints:
        target="all|tables|figures",
    localrule: True
    conda:
        "../../envs/pretrace.yaml"
    script:
        "../../scripts/check_artifacts.py"


# jobs read results/ of the working directory
if not str(rules.render_report.output.report).startswith("results/"):
    sys.exit(
        f"error: {rules.render_report.output.report}: the module has a prefix. Take it out, and name the folder by "
        "workdir or --directory instead (docs/notebook.md)."
    )
