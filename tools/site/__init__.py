"""`make docs`: the documentation as a site, from the Markdown in docs/ as it stands."""
