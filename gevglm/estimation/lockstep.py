"""Computations that ask for what they want to know next: run one by one, or many of them in the same passes over the rows.

A computation is a generator. It yields a question, is sent the answer, and ends with what it found. Newton's iteration asks for the sums at a
point and knows nothing else; an estimate asks for passes over the rows of an engine. Since none of them answers its own questions, the
questions of many can be answered at the same time, and each gets the answers, bit by bit, that it would get alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from gevglm.engine.base import Engine, Reducer, ReducerGroup

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked")
Found = TypeVar("Found")


class Pass(NamedTuple):
    """A pass over the rows of an engine: the question what a reducer sums up to."""

    engine: Engine
    reducer: Reducer


Passes: TypeAlias = Generator[Pass, Any, Found]  # a computation that asks for passes


def run(search: Generator[Question, Answer, Found], answer: Callable[[Question], Answer]) -> Found:
    """Run a computation; overflows on its way are its own affair, and silent."""
    with np.errstate(all="ignore"):
        reply: Any = None
        while True:
            try:
                question = search.send(reply)
            except StopIteration as end:
                return end.value
            reply = answer(question)


def run_in_lockstep(
    searches: Iterable[Generator[Question, Answer, Found]], answer_all: Callable[[list[Question]], Sequence[Answer]]
) -> list[Found]:
    """Run several computations at the same time: whenever all of them wait, their questions are answered together."""
    searches = list(searches)
    found: list = [None] * len(searches)
    replies: dict[int, Any] = dict.fromkeys(range(len(searches)))
    with np.errstate(all="ignore"):
        while replies:
            questions = {}
            for i, reply in replies.items():
                try:
                    questions[i] = searches[i].send(reply)
                except StopIteration as end:
                    found[i] = end.value
            replies = dict(zip(questions, answer_all(list(questions.values())), strict=True)) if questions else {}
    return found


def relay(
    search: Generator[Question, Answer, Found], answer: Callable[[Question], Generator[Asked, Any, Answer]]
) -> Generator[Asked, Any, Found]:
    """Turn a computation into one that asks other questions: those that the answers to its own take."""
    reply: Any = None
    while True:
        try:
            question = search.send(reply)
        except StopIteration as end:
            return end.value
        reply = yield from answer(question)


def make_pass(asked: Pass) -> Any:
    """Make a pass over the rows."""
    return asked.engine.reduce(asked.reducer)


def make_passes(asked: list[Pass]) -> list[Any]:
    """Make passes over the rows, all of those over the same engine in one."""
    sums: list = [None] * len(asked)
    for engine in {id(one.engine): one.engine for one in asked}.values():
        places = [i for i, one in enumerate(asked) if one.engine is engine]
        totals = engine.reduce(ReducerGroup([asked[i].reducer for i in places]))
        for i, total in zip(places, totals, strict=True):
            sums[i] = total
    return sums
