"""What every table of methods keeps to: three ways of choosing settings side by side, and a control."""

import pytest
import yaml
from made_up_studies import CONFIG, ROOT

from pretrace.questions.known import is_control
from pretrace.runtime.errors import InputError
from pretrace.studies import load_study
from pretrace.studies.artifacts import artifact_of, registered_artifacts

WRITTEN = registered_artifacts(ROOT / "config" / "artifacts.yaml")
REGISTERED = {slug: artifact_of(slug, entry, entry, [], slug) for slug, entry in WRITTEN.items()}

OTHER_BLOCKS = {
    "dc_pdd_table5": "every setting of the grid stands there, chosen by nobody",
    "de_cop_table1": "Welch's test is of one setting, the default",
    "de_cop_table3": "every setting that was asked has a row",
    "de_cop_table4": "Welch's test is of one setting, the default",
    "de_cop_table11": "Welch's test is of one setting, the default",
    "blind_audit": "the headline against controls and placebo",
    "selection_gap": "the difference of two of the three",
    "significance": "tests of the headline",
    "repetitions": "the spread of the headline over draws",
    "seeds": "the spread of the headline over seeds",
}
"""Tables of methods without the three blocks, and why."""

NO_METHODS = {
    "de_cop_table12": "letters that a model chooses",
    "reproduction": "the papers' numbers, which have blocks and controls of their own",
}
"""Tables that read metrics and show no methods side by side, and what they show."""

TABLES = sorted(
    slug
    for slug, entry in REGISTERED.items()
    if entry.kind == "table" and "metrics" in entry.needs and slug not in NO_METHODS
)


SHOWN = {"the registry": {slug: REGISTERED[slug] for slug in TABLES}}
for study in ("embedded", "paper"):
    artifacts = load_study(CONFIG | {"study": study}, ROOT / "config").artifacts
    SHOWN[study] = {slug: artifacts[slug] for slug in TABLES if slug in artifacts}


@pytest.mark.parametrize("where", SHOWN)
def test_every_table_of_methods_has_settings_chosen_three_ways_and_a_control(where):
    """Without `methods`, a table shows all that were scored, and a control always is."""
    shown = SHOWN[where].items()
    missing = {slug for slug, entry in shown if entry.renderer != "method_table" or entry.selection}
    assert missing == OTHER_BLOCKS.keys() & SHOWN[where].keys()
    for slug, entry in shown:
        assert not entry.methods or any(map(is_control, entry.methods)), slug


@pytest.mark.parametrize("where", SHOWN)
def test_con_recalls_tables_are_of_the_same_texts(where):
    """Its tables 3, 4, 7 and 8 repeat numbers of table 2, or the comparison that it makes."""
    slugs = [f"con_recall_table{number}" for number in (2, 3, 4, 7, 8)]
    assert {SHOWN[where][slug].evaluation_set for slug in slugs} == {"balanced"}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"title": "Own"}, "own: missing key 'renderer'"),
        ({"title": "Own", "renderer": "roc", "panels": ["runs"]}, "own.panels: a study says what is shown"),
    ],
)
def test_an_entry_of_the_registry_says_how_and_not_what(tmp_path, entry, told):
    path = tmp_path / "artifacts.yaml"
    path.write_text(yaml.safe_dump({"own": entry}), encoding="utf-8")
    with pytest.raises(InputError, match=told):
        registered_artifacts(path)
