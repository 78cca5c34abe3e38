"""Every benchmark, one after the other: `make bench`."""

from benchmarks import attention, see_cost, training_speed

if __name__ == "__main__":
    attention.main()
    see_cost.main()
    training_speed.main()
