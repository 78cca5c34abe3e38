"""Programs that write what the package ships."""
