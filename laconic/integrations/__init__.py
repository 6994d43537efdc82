"""Laconic beside other people's engines."""
