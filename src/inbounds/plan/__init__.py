"""Plans: files that say what to release, checked whole before anything is read or spent."""
