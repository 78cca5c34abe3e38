"""Serve models over HTTP: one batch for all clients, admission by cost, and a table of routes."""
