"""The worker: what takes a submission, judges it and keeps it from doing harm.

``tasks`` and ``supervisor`` run in the Celery worker and never import torch. ``judge`` is trusted and holds
inputs, oracle, tolerances and the clock. ``runner`` stands beside the submission's code and is not trusted.
``sandbox`` is what lies between, ``protocol`` the only thing that crosses.
"""
