"""The runner: one sandboxed process, one submission. Nothing in it is trusted and nothing it says is believed.

It learns a source, inputs and places for outputs; it never learns expected values, tolerances or seeds.
"""
