#!/bin/sh
# Installs Debian's qemu and the ARM system's C library, so that the kernels of the ARM wheel run here.
set -eu

if command -v qemu-aarch64 >/dev/null && [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ]; then
    exit 0
fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "The ARM kernels are not run without qemu: apt-get install qemu-user libc6-arm64-cross" >&2
    exit 0
fi
apt-get update -q >&2
env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends qemu-user libc6-arm64-cross >&2
