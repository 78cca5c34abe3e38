"""An open session and the sentences in it, with the futures of their results."""

from pellucid.decoding.decoder import Decoder
from pellucid.decoding.room import Room
from pellucid.search.lane import Result
from pellucid.search.request import SpecialIds
from pellucid.search.session import Session
from pellucid.serve.turns import Pending


class Table:
    """A session, opened when the first sentence comes, and its sentences by ticket."""

    def __init__(self, decoder: Decoder, room: Room, special: SpecialIds) -> None:
        self._decoder, self.room, self._special = decoder, room, special
        self._session: Session | None = None
        self._coming = list[Pending]()
        self._sentences, self._numbers = dict[int, Pending](), dict[Pending, int]()
        self.rows = 0  # of all its sentences

    def __len__(self) -> int:
        return len(self._coming) + len(self._sentences)

    @property
    def free(self) -> int:
        """Return how many rows are free; 0 while a sentence waits for memory."""
        waits = self._session is not None and len(self._sentences) > len(self._session)
        return 0 if waits else self.room.rows - self.rows

    def add(self, sentence: Pending) -> None:
        """Let a sentence begin with the next step."""
        self._coming.append(sentence)
        self.rows += sentence.width

    def cancel(self, sentence: Pending) -> None:
        """Forget a sentence, between two steps. Nothing happens if it is not here."""
        ticket = self._numbers.get(sentence)
        if ticket is not None and self._session is not None:
            self._leave(ticket)
            self._session.cancel(ticket)

    def step(self) -> list[tuple[Pending, Result]]:
        """Continue each sentence by one token. Return those that are finished now, with their results."""
        if self._session is None:
            self._session = Session(self._decoder.open(self.room), self._special)
        for sentence in self._coming:
            ticket = self._session.add(sentence.request)
            self._sentences[ticket], self._numbers[sentence] = sentence, ticket
        self._coming = []
        step = self._session.step()
        for lane in step.open:
            hypotheses = lane.hypotheses
            for index, ticket in enumerate(hypotheses.tickets.tolist()):
                if grew := self._sentences[ticket].grew:
                    grew(hypotheses.tokens[index, 0, -hypotheses.lengths[index] :].tolist())
        return [(self._leave(ticket), result) for ticket, result in step.ended.items()]

    def clear(self) -> list[Pending]:
        """Close the session, and return its sentences, which get no result here."""
        left = [*self._sentences.values(), *self._coming]
        if self._session is not None:
            self._session.close()
        self._session, self.rows, self._coming = None, 0, []
        self._sentences, self._numbers = {}, {}
        return left

    def _leave(self, ticket: int) -> Pending:
        sentence = self._sentences.pop(ticket)
        del self._numbers[sentence]
        self.rows -= sentence.width
        return sentence
