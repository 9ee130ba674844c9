"""The base of all other rooms: errors for users, atomic files, logs and progress.
Imports from no other room."""
