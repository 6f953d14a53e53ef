"""Judges that ask a model: sections in, scores from 0 to 1 out, within a budget of calls and tokens.

A spent budget gives 0.5, which is no opinion. Document text stays data: it is only ever read, never followed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pageindex_local.llm.base import Capability, GenerationRequest, ScoreRequest, TextModel
from pageindex_local.query.scorers import Section, describe_section

NO_OPINION = 0.5
_STEEPNESS = 6.0  # of the curve from gain in mean log probability to a score; 0.25 of gain is already much
_BATCH = 12  # scores asked at once; the budget of tokens is looked at between batches
_LABELS = "ABCDEFGH"
_ORDERS = 3  # different orders in which a list is shown, so that no place in it is favoured
_CHOICE_CHARACTERS = 300  # of a section in a list
_CHOICE_SYSTEM = {
    "section": "You find the section of a document that answers a question. Reply with one letter.",
    "document": "You find the document that answers a question. Reply with one letter.",
}


@dataclass(slots=True)
class Budget:
    """What a question may still cost. `exhausted` says that something was left unasked."""

    calls: int
    tokens: int
    exhausted: bool = False

    def admit(self, wanted: int) -> int:
        """How many of `wanted` calls may be made now."""
        allowed = max(min(wanted, self.calls if self.tokens > 0 else 0), 0)
        self.exhausted |= allowed < wanted
        return allowed

    def spend(self, calls: int, tokens: int) -> None:
        """Take what was used."""
        self.calls -= calls
        self.tokens -= tokens


class LikelihoodScorer:
    """How much likelier the question becomes when the model has read the section: log p(q | section) - log p(q).

    The difference takes out how odd the question is by itself. Small models cannot choose from a list, but this ranks.
    Cost: one model score a text and one for the question alone. Of the sections of one call only the first `most` are
    asked for, so that one wide chapter does not take the whole budget. `hidden` as in `describe_section`.
    """

    name = "likelihood"

    @staticmethod
    def calls_for(texts: int) -> int:
        """How many calls so many texts take."""
        return texts

    @staticmethod
    def texts_for(calls: int) -> int:
        """How many texts so many calls judge."""
        return calls

    def __init__(
        self, model: TextModel, question: str, budget: Budget, *, most: int | None = None, hidden: str = ""
    ) -> None:
        self._most = most
        self._hidden = hidden
        self._model = model
        self._question = " " + " ".join(question.split())
        self._budget = budget
        self._alone: float | None = None

    def score(self, sections: Sequence[Section]) -> list[float]:
        """A logistic curve over the gain of each section."""
        asked = sections[: self._most]
        gains = self.gains([describe_section(section, self._hidden) for section in asked])
        judged = [NO_OPINION if gain is None else 1 / (1 + math.exp(-_STEEPNESS * gain)) for gain in gains]
        return judged + [NO_OPINION] * (len(sections) - len(asked))

    def gains(self, texts: Sequence[str]) -> list[float | None]:
        """The gain in mean log probability of the question's tokens for each text; None where the budget is spent."""
        found: list[float | None] = []
        while len(found) < len(texts):
            allowed = self._budget.admit(min(_BATCH, len(texts) - len(found)))
            if not allowed:
                break
            found += self._ask(texts[len(found) : len(found) + allowed])
        return found + [None] * (len(texts) - len(found))

    def _ask(self, texts: Sequence[str]) -> list[float]:
        requests = [ScoreRequest(f"{text}\nQuestion:", self._question) for text in texts]
        if self._alone is None:
            requests.append(ScoreRequest("\nQuestion:", self._question))
        results = self._model.score(requests)
        self._budget.spend(len(texts), sum(result.input_tokens for result in results))
        scores = [result.mean_log_probability for result in results]
        if self._alone is None:
            self._alone = scores.pop()
        return [score - self._alone for score in scores]


class ChoiceScorer:
    """The probability that a model names a section's letter when it is shown a list of sections.

    Lists hold up to seven sections and a way to name none of them, which makes lists comparable; every list is shown in
    several orders and the mean counts. Models that cannot score write the letter under a grammar: votes count. As
    with likelihoods only the first `most` sections of a call are asked for. `noun` is what the model is told they are.
    Only capable models choose better than chance. Cost: one call an order and list, the list itself read once a call.
    """

    name = "choice"

    @staticmethod
    def calls_for(texts: int) -> int:
        """How many calls so many texts take: one for each order of each list."""
        return _ORDERS * -(-texts // (len(_LABELS) - 1))

    @staticmethod
    def texts_for(calls: int) -> int:
        """How many texts so many calls judge; the last list may be shown in fewer orders."""
        return (len(_LABELS) - 1) * -(-calls // _ORDERS)

    def __init__(
        self,
        model: TextModel,
        question: str,
        budget: Budget,
        *,
        most: int | None = None,
        hidden: str = "",
        noun: Literal["section", "document"] = "section",
    ) -> None:
        self._most = most
        self._noun = noun
        self._hidden = hidden
        self._model = model
        self._question = " ".join(question.split())
        self._budget = budget
        self._scores = Capability.SCORE in model.describe().capabilities

    def score(self, sections: Sequence[Section]) -> list[float]:
        """One probability a section, from its own list; NO_OPINION where the budget is spent."""
        found: list[float] = []
        asked = sections[: self._most]
        longest = len(_LABELS) - 1
        for start in range(0, len(asked), longest):
            group = [_list_entry(section, self._hidden) for section in asked[start : start + longest]]
            orders = self._budget.admit(_ORDERS)
            if not orders:
                break
            sums = [0.0] * len(group)
            for order in list_orders(len(group), orders):
                for place, share in zip(order, self._judge([group[place] for place in order]), strict=True):
                    sums[place] += share / orders
            found += sums
        return found + [NO_OPINION] * (len(sections) - len(found))

    def _judge(self, entries: Sequence[str]) -> list[float]:
        letters = _LABELS[: len(entries) + 1]
        shown = [*entries, "None of these"]
        listing = "\n".join(f"{letter}. {entry}" for letter, entry in zip(letters, shown, strict=True))
        prompt = f"{self._noun.capitalize()}s:\n{listing}\n\nQuestion: {self._question}\n"
        if self._scores:
            prefix = prompt + f"The answer stands in {self._noun}"
            results = self._model.score([ScoreRequest(prefix, f" {letter}") for letter in letters])
            self._budget.spend(1, max(result.input_tokens for result in results))
            weights = [math.exp(result.mean_log_probability) for result in results]
            total = sum(weights) or 1.0
            return [weight / total for weight in weights[:-1]]
        grammar = "root ::= " + " | ".join(f'"{letter}"' for letter in letters)
        request = GenerationRequest(
            prompt + f"Which {self._noun} holds the answer?",
            4,
            system=_CHOICE_SYSTEM[self._noun],
            grammar=grammar,
            purpose=f"choose a {self._noun}",
        )
        reply = self._model.generate([request])[0]
        self._budget.spend(1, reply.input_tokens + reply.output_tokens)
        named = reply.text.strip()[:1].upper()
        return [float(letter == named) for letter in letters[:-1]]


def list_orders(size: int, count: int) -> list[list[int]]:
    """`count` orders of a list in which its entries stand at different places: as given, backwards, then turned."""
    forward = list(range(size))
    orders = [forward, forward[::-1]]
    for turn in range(1, count):
        shift = turn * size // count
        orders.append(forward[shift:] + forward[:shift])
    return orders[:count]


def _list_entry(section: Section, hidden: str) -> str:
    return " ".join(describe_section(section, hidden).split())[:_CHOICE_CHARACTERS]
