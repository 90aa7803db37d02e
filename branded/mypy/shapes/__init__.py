"""An abstract interpreter: it follows the shapes of a file's data through statements and functions.

It finds mistakes that types do not show, such as two mapped arguments with different lengths.
"""
