"""The command line: each verb parses its arguments, calls one function and prints what comes back."""

from pellucid.cli.command import main

__all__ = ["main"]
