"""Fast decoding of a Transformer on a processor, in int8 or with floats; docs/performance.md says how."""
