"""Staging: a Python function is walked once, over its syntax tree, and becomes a graph.

Static values (numbers, strings, modules, Cells ...) are computed by real Python while staging; op
calls on symbolic tensors append nodes. What native execution cannot do is done here: branches and
loops on tensors, effects that must wait for the run, and the record of what was read and written.
"""
