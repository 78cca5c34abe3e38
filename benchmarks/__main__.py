"""Every benchmark, one after the other: `make bench`."""

from benchmarks import attention, training_speed

if __name__ == "__main__":
    attention.main()
    training_speed.main()
