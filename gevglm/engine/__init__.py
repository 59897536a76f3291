"""Engines: where the rows are. Nothing statistical lives here."""

from gevglm.engine.base import Block, Engine, MappedEngine, Reducer
from gevglm.engine.memory import MemoryEngine

__all__ = ["Block", "Engine", "MappedEngine", "MemoryEngine", "Reducer"]
