"""Files on the disk: written completely or not at all, complete folders, the model folder, the state of a
run."""
