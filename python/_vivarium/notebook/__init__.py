"""What notebooks have beyond Python: shell lines, magics and `get_ipython()`."""
