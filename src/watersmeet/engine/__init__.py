"""Wires it from settings; owns threads, the writer lock and the commit point."""
