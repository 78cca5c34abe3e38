"""pellucid results: a table of training runs, from their metrics."""

import argparse

from pellucid.cli.lines import put
from pellucid.learning.results import results_page


def run(arguments: argparse.Namespace) -> None:
    """Print a Markdown table with a row for each run, or for each folder of several seeds."""
    put(results_page(arguments.runs).splitlines())
