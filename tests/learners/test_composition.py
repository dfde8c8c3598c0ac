"""Learners are composed, not stacked: who reads one reads three classes at most."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import learners


def own(cls: type) -> set[str]:
    """What a class has of its own: one that only says which pieces it takes is its pair's form."""
    return {name for name in vars(cls) if not name.startswith("_")} - {"role", "kind", "piece"}


def test_no_class_stands_on_more_than_two_others_of_the_package() -> None:
    classes = {
        cls
        for module in pkgutil.walk_packages(learners.__path__, "learners.")
        for cls in vars(importlib.import_module(module.name)).values()
        if inspect.isclass(cls) and cls.__module__.startswith("learners.")
    }
    assert len(classes) > 150
    for cls in classes:
        chain = [
            base for base in cls.__mro__ if base.__module__.startswith("learners.") and own(base)
        ]
        assert len(chain) <= 3, chain
