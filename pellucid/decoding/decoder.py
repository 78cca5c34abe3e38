"""The interface of what decodes: a model made ready, which opens decodings, and the plan of their memory."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Protocol

import torch

from pellucid.config.schema import ModelConfig
from pellucid.decoding.room import Room
from pellucid.search.request import Request, SpecialIds
from pellucid.search.sample import DRAWING
from pellucid.search.session import Decoding, Session, Waiting

MOST_SHARING = 4  # threads: a few read memory as fast as many, and wait less for each other
MOST_CANDIDATES = 128  # of more, an engine's lists of the likeliest tokens are slower than all logits


class Decoder(Protocol):
    """A model that is ready to decode. It may open several decodings, each with memory of its own.

    together: how many hypotheses to decode at once: more is not faster.
    apart: how many hypotheses a thread must have to decode alone; with fewer, threads share each step. 1:
        they never share. sys.maxsize: one thread calls the model, which has threads of its own or a GPU.
    """

    config: ModelConfig

    @property
    def together(self) -> int: ...
    @property
    def apart(self) -> int: ...

    def room_bytes(self, room: Room) -> int:
        """Return the most memory that decoding in this room takes, without the weights."""

    def open(self, room: Room) -> Decoding:
        """Return a decoding with this room, and no sentence yet."""


def plan(decoder: Decoder, requests: Sequence[Request], special: SpecialIds) -> tuple[Room, int]:
    """Return the room in which a thread decodes some of these sentences at a time, and how many threads do:
    as fast as possible within the memory that the requests allow."""
    options = {id(one.options): one.options for one in requests}.values()  # often one object
    threads, hypotheses = max(1, torch.get_num_threads()), sum(one.options.width for one in requests)
    sessions = max(1, min(threads, len(requests), hypotheses // decoder.apart))
    sharing = 1 if decoder.apart == 1 else min(MOST_SHARING, threads // sessions)
    rounds = -(-hypotheses // (sessions * decoder.together))
    # Of equal size, because few rows are slow for their number.
    together = -(-len(requests) // (sessions * rounds))
    longest_first = sorted((len(one.source) for one in requests), reverse=True)
    tokens = min(each.batch_tokens or math.inf for each in options)
    together = max(1, min(together, bisect_right([*accumulate(longest_first)], tokens)))
    needed = [each.candidates for each in options]
    most = max(needed) if all(needed) else 0
    candidates = most if most < min(decoder.config.target_size, MOST_CANDIDATES + 1) else 0
    while True:
        room = replace(
            Room.of(requests, together), candidates=candidates, forbidden=special.forbidden, threads=sharing
        )
        taken = decoder.room_bytes(room) + DRAWING * any(each.sample for each in options)
        fits = sessions * taken <= min(each.memory for each in options) << 20
        if fits or together == 1:
            return room, sessions if fits else 1
        together = together * 7 // 8


def open_session(decoder: Decoder, requests: Sequence[Request], special: SpecialIds) -> Session:
    """Open a session with room for some of these sentences at a time, and let them wait in it."""
    room, _ = plan(decoder, requests, special)
    return Session(decoder.open(room), special, Waiting(requests))
