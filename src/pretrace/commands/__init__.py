"""What a person runs beside Snakemake: `pretrace cut` and `pretrace key`, a file and a
`main` each."""
