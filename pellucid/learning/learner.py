"""The learner: a float32 model, its AdamW optimizer and learning rate and, for bf16, a copy of the model that
computes in bf16."""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pellucid.config.schema import TrainingConfig
from pellucid.data.batch import Batch
from pellucid.errors import Setting, UsageError, is_out_of_memory
from pellucid.folder.load import device_of, without_weights
from pellucid.learning import adamw
from pellucid.learning.adamw import Gradients
from pellucid.learning.freezing import freeze, is_trained
from pellucid.learning.memory import split_further
from pellucid.learning.ranks import Ranks
from pellucid.learning.shares import Losses, Shares, shard, shared_like, whole
from pellucid.learning.step import Update
from pellucid.learning.workers import Workers
from pellucid.model import Transformer

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


class Learner:
    """A float32 model, its AdamW state and, for bf16, a working copy of the model in bf16.

    With bf16, weights and their updates are in float32; products, activations and gradients are in bf16
    (Micikevicius et al. 2018).
    """

    def __init__(self, model: Transformer, training: TrainingConfig, ranks: Ranks | None = None) -> None:
        self.model, self._ranks = model, ranks or Ranks()
        self.training = training
        freeze(model, training.frozen)
        self.device = device_of(model)
        self.precision = precision_for(training, self.device)
        self.working = copy.deepcopy(model).bfloat16() if self.precision == "bf16" else model
        self._losses = Losses(self.working, training)
        if training.sharded and self._ranks.count > 1:
            shard(self._losses, self.working, self._ranks)
            if self.working is not model:
                shard(model, model, self._ranks)
        self.optimizer = optimizer_for(model, training)
        self.workers: Workers | Shares = Workers(self.working, training, threads=1)

    def start_workers(self) -> None:
        """Share every batch with the other processes of the training. If there are none, start up to three
        worker processes if torch has several threads on a CPU (not on Windows)."""
        if self._ranks.count > 1:
            self.workers = Shares(self._losses, self.training, self._ranks)
        else:
            self.workers = Workers(self.working, self.training, torch.get_num_threads())

    def close(self) -> None:
        """Stop the worker processes."""
        self.workers.close()

    def learn(self, batches: Sequence[Batch], step: int, done: float = 0.0) -> Update:
        """Update the weights once, from one or more batches. Batches that do not fit into memory are split
        into smaller parts.

        If the loss or the gradient is not finite, the weights do not change.
        step: the number of the step, from 1. done: the fraction of the training that is over, 0 to 1.
        """
        self.working.train()
        self.workers.begin(step)
        tokens = sum(batch.tokens for batch in batches)
        random, parts, losses = self.random(), list(batches), list[tuple[float, float]]()
        while len(losses) < len(parts):
            try:
                is_last = len(losses) + 1 == len(parts)
                losses.append(self.workers.add(parts[len(losses)], tokens, is_last))
                continue
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
            # Only here, after the error is gone, is the memory free that its traceback held. Half a gradient
            # may have been added, so all parts are computed again.
            self.working.zero_grad(set_to_none=True)
            self.workers.collect()
            self.set_random(random)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            parts, losses = split_further(parts, parts[len(losses)], self.model, self.precision), []
        split = len(parts) if len(parts) > len(batches) else 0
        smoothed, plain = (sum(kind) / tokens for kind in zip(*losses, strict=True))
        return self._update(step, done, smoothed, plain, tokens, split)

    def _update(
        self, step: int, done: float, loss: float, plain_loss: float, tokens: int, split: int
    ) -> Update:
        """Update the weights with AdamW if loss and gradient are finite; return what happened in the step."""
        rate = learning_rate(step, self.training, self.model.config.width, done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        weights, limit = list(self.model.parameters()), self.training.clip_norm or math.inf
        if adamw.applies(weights):
            gradients = Gradients(weights, list(self.working.parameters()), self.workers.collect())
            norm = gradients.norm()
            if finite := math.isfinite(loss) and math.isfinite(norm):
                gradients.update(self.optimizer, min(1.0, limit / (norm + 1e-6)))
        else:
            norm = self._collect_gradients(limit)
            if finite := math.isfinite(loss) and math.isfinite(norm):
                self.optimizer.step()
                self.refresh()
        for each in (self.model, self.working):
            each.zero_grad(set_to_none=True)
        return Update(loss, plain_loss, tokens, rate, norm, not finite, split)

    def refresh(self) -> None:
        """Copy the float32 weights into the bf16 working copy, if there is one."""
        if self.working is not self.model:
            with torch.no_grad():
                torch._foreach_copy_(list(self.working.parameters()), list(self.model.parameters()))

    def _collect_gradients(self, limit: float) -> float:
        """Sum the gradients of all processes, clip them, and leave them in float32 for the optimizer. Return
        their norm before clipping."""
        pairs = list(zip(self.model.parameters(), self.working.parameters(), strict=True))
        if self.working is not self.model:
            for parameter, worker in pairs:
                parameter.grad, worker.grad = None if worker.grad is None else worker.grad.float(), None
        for gradients in self.workers.collect():
            for (parameter, _), gradient in zip(pairs, gradients, strict=True):
                if parameter.grad is not None:
                    parameter.grad += gradient
        return float(whole(torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit, foreach=True)))

    def whole_model(self) -> Transformer:
        """Return the model; if it is sharded, the first process gets a copy with all weights. All processes
        call this together."""
        if self._ranks.count == 1 or not self.training.sharded:
            return self.model
        weights = {name: self._gathered(each) for name, each in self.model.state_dict().items()}
        if not self._ranks.is_first:
            return self.model
        model = without_weights(self.model.config)
        model.load_state_dict(weights, assign=True)
        return model.to(self.device)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors needed to resume training, by name: weights, AdamW's moments, and the states of
        the random number generators. Of sharded ones, only the first process gets them."""
        state = {f"model.{name}": self._gathered(each) for name, each in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for kind in ADAM_STATE:
                if kind in self.optimizer.state[parameter]:
                    moment = self.optimizer.state[parameter][kind]
                    state[f"optimizer.{kind}.{name}"] = self._gathered(moment)
        return state | self.random()

    def _gathered(self, tensor: Tensor) -> Tensor:
        """Return a whole tensor. A sharded one goes to the memory of the first process's CPU, because no
        device has room for all."""
        if (full := whole(tensor)) is tensor:
            return tensor
        return full.cpu() if self._ranks.is_first else full.new_empty(0)

    def restore(self, state: dict[str, Tensor]) -> None:
        """Load a state that `tensors` returned; raise an error if its model has another shape."""
        shapes = {f"model.{name}": tensor.shape for name, tensor in self.model.state_dict().items()}
        if shapes != {name: tensor.shape for name, tensor in state.items() if name.startswith("model.")}:
            raise UsageError(
                "the checkpoint holds a model of another shape, so the run cannot continue. "
                "Restore the old values of [model], or start a new run with another {}.",
                Setting("out"),
            )
        weights = self.model.state_dict()
        self.model.load_state_dict(
            {name: shared_like(state[f"model.{name}"], each) for name, each in weights.items()}
        )
        for name, parameter in self.model.named_parameters():
            for kind in ADAM_STATE:
                if (key := f"optimizer.{kind}.{name}") in state:
                    moment = state[key].clone()
                    self.optimizer.state[parameter][kind] = (
                        shared_like(moment, parameter) if moment.dim() else moment.to(self.device)
                    )
        self.set_random(state)
        self.refresh()

    def random(self) -> dict[str, Tensor]:
        """Return the states of the random number generators, by name."""
        state = {"random.cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            state["random.cuda"] = torch.cuda.get_rng_state(self.device)
        return state

    def set_random(self, state: dict[str, Tensor]) -> None:
        """Set the random number generators to states that `random` returned."""
        torch.set_rng_state(state["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in state:
            torch.cuda.set_rng_state(state["random.cuda"], self.device)


def precision_for(training: TrainingConfig, device: torch.device) -> str:
    """Return the precision to train in, "fp32" or "bf16". "auto" means bf16 where the hardware supports it,
    because it is about 3 times as fast."""
    if training.precision != "auto":
        return training.precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.get_device_capability(device)[0] >= 8 else "fp32"
    native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if device.type == "cpu" and native else "fp32"


def optimizer_for(model: nn.Module, training: TrainingConfig) -> torch.optim.AdamW:
    """Return AdamW (Loshchilov and Hutter 2019) for what is not frozen; weight decay is for matrices only."""
    trained = [each for name, each in model.named_parameters() if each.requires_grad and is_trained(name)]
    groups = [
        {"params": [each for each in trained if each.dim() > 1], "weight_decay": training.weight_decay},
        {"params": [each for each in trained if each.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=training.betas, eps=training.epsilon, fused=True)


def learning_rate(step: int, training: TrainingConfig, width: int, done: float = 0.0) -> float:
    """Return the learning rate at a step, counted from 1: peak * min(step / warmup, sqrt(warmup / step)).

    With schedule = "paper", peak = (width * warmup)^-0.5, which gives width^-0.5 * min(step^-0.5, step *
    warmup^-1.5) (Vaswani et al. 2017, equation 3). Over the last part of the training, the fraction
    `cooldown`, the rate also falls linearly to 0 (Hägele et al. 2024). done: the fraction of the training
    that is over.
    """
    warmup, cooldown = training.warmup_steps, training.cooldown
    peak = (width * warmup) ** -0.5 if training.schedule == "paper" else training.peak_rate
    left = min(1.0, (1.0 - done) / cooldown) if cooldown else 1.0
    return peak * min(step / warmup, math.sqrt(warmup / step)) * left
