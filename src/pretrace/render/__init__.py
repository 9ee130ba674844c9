"""Tables, figures and the report.

In come an artifact, as the study resolves it (`artifact.Artifact`), and the files of
its results (`results.Results`); out go a table as CSV, Markdown, LaTeX and HTML or a
figure as PDF, PNG and SVG, and a record of what could not be shown. `report` gathers
them on one page.

Read `rendering.render` first: it draws an artifact by its renderer, one of the
functions in `tables/` and `figures/` that `catalogue` lists, and leaves out panels that
fail. `results` selects the rows of a panel, `tables/table.py` and `figures/drawing.py`
hold what all renderers share. Importing the package is light: pandas and matplotlib
load with the renderers.
"""
