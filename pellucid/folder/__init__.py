"""What lies on the disk: whole files, sealed folders, the model folder, the state of a run."""
