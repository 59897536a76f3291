"""A progress bar, where one is asked for and tqdm is installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def shown(items: Iterable[Item], total: int, progress: bool) -> Iterable[Item]:
    """Return the items, with a bar that follows them."""
    if not progress:
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return items
    return tqdm(items, total=total)
