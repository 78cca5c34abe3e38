#!/bin/sh
# Installs Debian's Chromium for the browser tests, where no Chromium or Chrome is there already.
set -eu

for browser in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$browser" >/dev/null; then
        exit 0
    fi
done

if ! command -v apt-get >/dev/null; then
    echo "The browser tests need Chromium: install it as your system does. Without it they are skipped." >&2
    exit 0
fi
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "The browser tests need Chromium, and without it they are skipped. Install it once:" >&2
    echo "    sudo apt-get update && sudo apt-get install chromium fonts-noto-core" >&2
    exit 0
fi

echo "Installing Chromium for the browser tests. This happens once." >&2
$as_root apt-get update -q >&2
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium fonts-noto-core >&2
