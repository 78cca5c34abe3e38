"""Train the demo model anew and store it in the package, in float16: `make demo-model`."""

from pathlib import Path

import torch

import pellucid
from pellucid import demo
from pellucid.data import phrasebook
from pellucid.folder.checkpoint import save_model
from pellucid.folder.load import load_model

OUT, PACKAGED = Path("build/demo"), Path(pellucid.__file__).parent / "demo_model"

if __name__ == "__main__":
    phrasebook.write(OUT / demo.DATA)
    model, vocabulary, config, manifest = load_model(demo.train_model(demo.configuration(OUT), OUT))
    PACKAGED.mkdir(exist_ok=True)
    save_model(PACKAGED, model, vocabulary, config, manifest["provenance"], stored_as=torch.float16)
