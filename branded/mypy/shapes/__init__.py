"""An abstract interpreter that follows the shapes of data in a file.

It reports mistakes that types do not show, such as two mapped arguments with different lengths.

- `report`           starts the analysis of a file, and reports the mistakes that `state` collects
- `execute`          follows the statements of a file, and `function_bodies` the functions that it calls
- `evaluate`         evaluates expressions to the abstract values of `values`
- `libraries`        finds the rule of a library function in `rules`
"""
