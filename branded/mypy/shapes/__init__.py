"""An abstract interpreter that follows the shapes of a file's data.

It finds mistakes that types do not show, such as two mapped arguments with different lengths.
"""
