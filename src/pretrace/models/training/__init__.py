"""Train the controlled models, whose members are known: small ones from random weights,
or a given model further."""
