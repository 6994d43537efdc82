"""Virtual time: how long a plan's steps take on a network and a machine that need not exist."""
