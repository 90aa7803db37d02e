"""The shapes of the values in a file, followed from the data through its functions, without annotations."""
