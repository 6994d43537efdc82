"""A cluster with slow links on one machine: hosts are network namespaces, a bridge is the switch, tc sets the rates.

`enter` runs a command inside fresh namespaces, `build` makes the hosts there, `check` measures what was built.
"""
