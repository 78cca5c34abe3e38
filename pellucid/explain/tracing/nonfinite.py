"""The old place of `pellucid.nonfinite`, until everybody has switched."""

from pellucid.nonfinite import Finding, NonFinite, find_nonfinite

__all__ = ["Finding", "NonFinite", "find_nonfinite"]
