"""What every other room stands on: errors for users, atomic files, logs and progress. Imports from no other room."""
