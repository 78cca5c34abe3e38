"""The page: an explanation as one HTML file that needs no network."""
