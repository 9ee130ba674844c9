"""The engine: texts -> per-token statistics. Only this room runs a model forward;
reading needs no torch."""
