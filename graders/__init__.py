"""What a drill is: its hidden tests, tolerances, scoring and diagnosis, and the report they end in.

Modules that the web service reads (``verdict``, ``report``, ``manifest``, ``package``, ``limits``,
``catalogue``, ``visibility``) never import torch; the others do and run in the judge alone.
"""
