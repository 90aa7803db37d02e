"""What is for learning, and uses the rest of the package: the demo, the puzzles, the explorer, pictures."""
