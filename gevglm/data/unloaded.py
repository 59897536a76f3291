"""Arrays of the length of the data that are not in memory: they have a shape, and refuse all else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, cast

from numpy.typing import NDArray

from gevglm.exceptions import InvalidDataError


class RowsNotLoadedError(InvalidDataError, AttributeError):
    """Something asks for the numbers of rows that are not in memory."""


def rows_needed(what: str, instead: str = "") -> str:
    """Return the one sentence about rows that are not in memory, and what to do."""
    where = "which are not in memory (removed, as from a saved model, read in pieces, or those of a published model)"
    return (
        f"{what} needs the rows of the fit, {where}; {instead or 'give data, or fit a table that is held in memory'}."
    )


@dataclass(frozen=True)
class UnloadedArray:
    """Stands for an array of the length of the data where that is not in memory: it has a shape, and no numbers."""

    shape: tuple[int, ...]
    __array_ufunc__ = None

    @classmethod
    def of(cls, *shape: int) -> NDArray:
        """Return a stand-in for an array of some shape, to be used where an array is."""
        return cast(NDArray, cls(shape))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __mul__(self, other: Any) -> UnloadedArray:
        return self

    __rmul__ = __mul__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise RowsNotLoadedError(rows_needed("this"))

    __array__ = __getitem__ = __iter__ = __matmul__ = __rmatmul__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __truediv__ = __rtruediv__ = __pow__ = _refuse
