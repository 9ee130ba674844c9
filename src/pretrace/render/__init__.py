"""Tables, figures and the report. Package import is light: pandas and matplotlib load
with the renderers."""
