"""Turns what a program shows into MIME bundles: values, figures, tables and charts."""
