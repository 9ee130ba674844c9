"""The two tables of an audit: its answer, and what a chat model gives back."""
