"""Ways to show results (explanations, traces, worked examples): as text, in notebooks, as pictures, as
files."""
