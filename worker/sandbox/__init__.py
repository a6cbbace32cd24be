"""What lies between the machine and code that is not trusted. Knows nothing of grading.

``tiers`` is the way in: each tier starts a program behind ``walls`` as a ``process`` that can be watched, paused and
killed whole. ``tier_a`` does it with bubblewrap, ``tier_b`` with an id, Landlock and seccomp, ``bare`` not at all.
"""
