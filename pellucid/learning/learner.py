"""What learns: the model, its optimizer and, in bf16, the copy that does the arithmetic."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.config.device import device_of
from pellucid.config.schema import ModelConfig, TrainingConfig
from pellucid.data.batch import Batch
from pellucid.errors import UsageError
from pellucid.learning.loss import loss_of
from pellucid.learning.memory import needing_memory
from pellucid.learning.optimizer import learning_rate, optimizer_for
from pellucid.learning.splitting import compute_in_parts
from pellucid.learning.workers import Workers, shares
from pellucid.model import Transformer

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Update:
    """What one step did: the loss per target token, smoothed and plain, their number, the gradient's norm."""

    loss: float
    plain_loss: float
    tokens: int
    rate: float
    gradient_norm: float
    skipped: bool
    split: int = 0  # the number of parts, where the batches did not fit into memory as they were


class Learner:
    """A model in float32, its AdamW state, and a working copy in bf16 where that is what computes.

    The weights and their sums stay in float32; products, activations and gradients are bf16
    (Micikevicius et al. 2018).
    """

    def __init__(self, model: Transformer, training: TrainingConfig) -> None:
        self.model = model
        self.training = training
        self.optimizer = optimizer_for(model, training)
        self.device = device_of(model)
        self.precision = precision_for(training, self.device)
        self.working = copy.deepcopy(model).bfloat16() if self.precision == "bf16" else model
        self.workers: Workers | None = None

    def start_workers(self) -> None:
        """Let a process for each further thread of torch compute its part of every batch."""
        threads = torch.get_num_threads()
        smoothing, seed = self.training.label_smoothing, self.training.seed
        self.workers = Workers(self.working, smoothing, seed, threads)

    def close(self) -> None:
        """End the workers."""
        if self.workers:
            self.workers.close()

    def learn(self, batches: Sequence[Batch], step: int) -> Update:
        """One update from one or more batches; it is skipped when the loss or the gradient is not finite."""
        self.working.train()
        if self.workers:
            self.workers.begin(step)
        tokens = sum(batch.tokens for batch in batches)
        losses = self._losses(batches, tokens)
        loss, plain_loss = (sum(kind) / tokens for kind in zip(*losses, strict=True))
        rate = learning_rate(step, self.training, self.model.config.width)
        with needing_memory(f"in the update of step {step:,}", smaller_model(self.model.config)):
            norm = self._collect_gradients()
            finite = math.isfinite(loss) and math.isfinite(norm)
            if finite:
                for group in self.optimizer.param_groups:
                    group["lr"] = rate
                self.optimizer.step()
                self.refresh()
        self.model.zero_grad(set_to_none=True)
        split = 0 if len(losses) == len(batches) else len(losses)
        return Update(loss, plain_loss, tokens, rate, norm, not finite, split)

    def refresh(self) -> None:
        """Bring the working copy up to date with the weights."""
        if self.working is not self.model:
            with torch.no_grad():
                torch._foreach_copy_(list(self.working.parameters()), list(self.model.parameters()))

    def _losses(self, batches: Sequence[Batch], tokens: int) -> list[tuple[float, float]]:
        """Add up the gradients of all batches; return the losses of each, or of each part of them."""
        random = self._random()

        def start_again() -> None:
            self.working.zero_grad(set_to_none=True)
            if self.workers:
                self.workers.collect()
            self._set_random(random)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

        return compute_in_parts(batches, lambda part: self._backward(part, tokens), start_again)

    def _backward(self, batch: Batch, tokens: int) -> tuple[float, float]:
        """Add the gradient of a batch, each worker that of a share of it; return its losses."""
        own, *others = self.shares(batch)
        if not self.workers or not others:
            return self._add(own, tokens)
        with self.workers.adding(others, tokens) as losses:
            losses_of_own = self._add(own, tokens)
        smoothed, plain = (sum(kind) for kind in zip(losses_of_own, *losses, strict=True))
        return smoothed, plain

    def shares(self, batch: Batch) -> list[Batch]:
        """Divide a batch into what this process learns from, first, and what each worker does."""
        return shares(batch, 1 + len(self.workers)) if self.workers else [batch]

    def _add(self, batch: Batch, tokens: int) -> tuple[float, float]:
        loss = loss_of(self.working, batch, self.training.label_smoothing)
        (loss.smoothed / tokens).backward()
        return float(loss.smoothed.detach()), float(loss.plain)

    def _collect_gradients(self) -> float:
        """Put float32 gradients where the optimizer looks for them, clipped; returns their norm before."""
        pairs = list(zip(self.model.parameters(), self.working.parameters(), strict=True))
        if self.working is not self.model:
            for parameter, worker in pairs:
                parameter.grad, worker.grad = None if worker.grad is None else worker.grad.float(), None
        for gradients in self.workers.collect() if self.workers else ():
            for (parameter, _), gradient in zip(pairs, gradients, strict=True):
                if parameter.grad is not None:
                    parameter.grad += gradient
        limit = self.training.clip_norm or math.inf
        return float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit, foreach=True))

    def tensors(self) -> dict[str, Tensor]:
        """All that a resumed training needs, by name: weights, AdamW's moments, the random generators."""
        state = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for kind in ADAM_STATE:
                if kind in self.optimizer.state[parameter]:
                    state[f"optimizer.{kind}.{name}"] = self.optimizer.state[parameter][kind]
        return state | self._random()

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go back to what `tensors` gave."""
        shapes = {f"model.{name}": tensor.shape for name, tensor in self.model.state_dict().items()}
        if shapes != {name: tensor.shape for name, tensor in state.items() if name.startswith("model.")}:
            raise UsageError(
                "the checkpoint is of a model of another shape, so it cannot go on. "
                "Give [model] its old values, or start anew with another --out."
            )
        self.model.load_state_dict({name: state[f"model.{name}"] for name in self.model.state_dict()})
        for name, parameter in self.model.named_parameters():
            for kind in ADAM_STATE:
                if (key := f"optimizer.{kind}.{name}") in state:
                    self.optimizer.state[parameter][kind] = state[key].to(self.device).clone()
        self._set_random(state)
        self.refresh()

    def _random(self) -> dict[str, Tensor]:
        """The state of the random generators."""
        state = {"random.cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            state["random.cuda"] = torch.cuda.get_rng_state(self.device)
        return state

    def _set_random(self, state: dict[str, Tensor]) -> None:
        torch.set_rng_state(state["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in state:
            torch.cuda.set_rng_state(state["random.cuda"], self.device)


def smaller_model(model: ModelConfig) -> str:
    """What to do where the model itself is too large for the memory."""
    return (
        f"Its {model.parameters:,} parameters take {16 * model.parameters / 1e9:,.1f} GB in float32: "
        "weights, gradients and AdamW's two moments. Lower [model] width, hidden or the numbers of layers, "
        "or [vocabulary] size, and start anew with another --out; or use a machine with more memory."
    )


def precision_for(training: TrainingConfig, device: torch.device) -> str:
    """ "auto" is bf16 where the processor multiplies it natively, then about 3 times as fast; else fp32."""
    if training.precision != "auto":
        return training.precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.get_device_capability(device)[0] >= 8 else "fp32"
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if device.type == "cpu" and native else "fp32"
