"""Write files completely or not at all, and save and load model folders and the state of training runs."""
