"""The other end of `ps`: what a server process does with what workers push."""
