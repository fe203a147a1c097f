"""The house behind the notebooks: `maths` (ground floor), `views` (pictures), `widgets` (the hands).

Imports only go down. Importing this package loads nothing else.
"""
