"""Models of other programs that Pellucid does not read: name what lies in a folder, and what to do."""

from pathlib import Path

# By their files: what each is, and the remedy.
STRANGERS = {
    "snapshots/*/config.json": "this is in a folder of the Hugging Face cache. "
    "Name the folder that holds it.",
    "adapter_config.json": "this is a PEFT adapter, which holds changes to a model and not the model. "
    "Merge the two with merge_and_unload(), and save that with save_pretrained().",
    "*.onnx": "this is an ONNX graph, which has no layers by name. "
    "Name the folder that it was exported from.",
    "*.intgemm*": "this is a Bergamot model, as in Firefox; its decoder has no self-attention. "
    "Choose another model of these languages, such as an OPUS-MT.",
    "*.h5": "these are weights for TensorFlow. Download model.safetensors or pytorch_model.bin too.",
    "*.msgpack": "these are weights for JAX. Download model.safetensors or pytorch_model.bin too.",
}


def find_stranger(folder: Path) -> str:
    """Return what the first known file of another program in a folder is, and the remedy; "" if there is
    none."""
    for pattern, what in STRANGERS.items():
        if found := sorted(folder.glob(pattern)):
            return f"{found[0].relative_to(folder).as_posix()}: {what}"
    return ""
