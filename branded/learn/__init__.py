"""Learning material: demo, puzzles, explorer, pictures, error pages."""
