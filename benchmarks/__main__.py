"""Every benchmark, one after the other: `make bench`."""

from benchmarks import attention, decode, decode_bound, page_opening, see_cost, training_speed

if __name__ == "__main__":
    attention.main()
    see_cost.main()
    page_opening.main()
    training_speed.main()
    decode.main()
    decode_bound.main()
