"""What lies on the disk: files written completely or not at all, sealed folders, the model folder, the state
of a run."""
