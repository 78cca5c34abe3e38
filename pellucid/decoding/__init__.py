"""Fast decoding of a Transformer on a CPU, in int8, bf16 or fp32; see docs/performance.md."""
