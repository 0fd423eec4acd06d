"""Why a run's answer is what it is, in plain words: for whoever deploys and has not tuned speculation before."""

from tuner.explain.facts import read_facts
from tuner.explain.telling import explained, explained_json, explained_text

__all__ = ["explained", "explained_json", "explained_text", "read_facts"]
