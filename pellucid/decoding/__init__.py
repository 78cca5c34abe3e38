"""What computes the steps of the search: decoder.py has the interface and the plan of memory and threads,
threads.py the loop over sentences, serving.py the choice among kernels (engine.py), PyTorch and a GPU."""
