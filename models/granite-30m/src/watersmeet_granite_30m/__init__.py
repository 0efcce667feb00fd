"""The weights of granite-embedding-30m-english as data; `PATH` is their folder."""

from pathlib import Path

PATH = Path(__file__).parent
