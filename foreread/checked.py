"""Public functions check their arguments by their own annotations, before they do anything.

A type checker does not run in a notebook. Every refusal says what to give instead.
"""

from __future__ import annotations

import builtins
import inspect
import operator
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from importlib import import_module
from math import isfinite
from typing import Any, ParamSpec, TypeVar

from foreread.error import ERRORS, ArgumentError, ArgumentTypeError, FileError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_SHOWN = 60  # characters of a wrong argument
# The remedy for an argument that does not fit its annotation, by a name in the annotation.
_REMEDIES = {
    "Start": 'read one first: start = foreread.load("app.capture")',
    "Recording": 'read one first: start = foreread.load("app.capture")',
    "Prediction": 'predict first: prediction = foreread.load("app.capture").predict()',
    "Sweep": 'read one first: measured = foreread.read_sweep("app.sweep.json")',
    "Suite": 'read one first: suite = foreread.read_suite("suite.toml")',
    "Results": 'read one first: tuning = foreread.read_tuning("app.tuning")',
    "Metadata": 'give start.capture of start = foreread.load("app.capture")',
    "Advice": 'make it first: advice = foreread.load("app.capture").advise()',
    "Advised": 'read one first: row = foreread.row_of_advice("advice", 1)',
    "ApplyPlan": "give the plan of a script: foreread.script(prediction, DIR).plan",
    "Target": 'open one first: with foreread.open_target("ssh://root@board") as target',
    "Listing": "give a listing of foreread.prefetch(start).found.listing",
    "Command": 'give the words of a command as a list, such as ["nginx", "-t"], or RunOptions',
    "StrPath": "give a path as text, or as pathlib.Path",
    "Kibs": "give windows in KiB as whole numbers, such as [0, 32, 128]",
}
# Public names of classes.
_PUBLIC = {"Metadata": "Capture", "Recording": "Start", "Results": "Tuning"}
_WORDS = {  # singular, plural
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "text"),
    bool: ("True or False", "True or False"),
    type(None): ("None", "None"),
}


def checked(
    function: Callable[Parameters, Result], called: str = ""
) -> Callable[Parameters, Result]:
    """Return ``function`` with its arguments checked against its annotations.

    ``called`` is its public name, if that differs. The returned function raises ArgumentTypeError,
    a TypeError, for an argument of another type, and FileError, an OSError, if a file cannot be
    used and the error names no remedy.
    """
    signature, public = inspect.signature(function), called or function.__name__

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentTypeError(f"{public}: {error}", _usage(signature)) from None
        for name, value in bound.arguments.items():
            shown = "the start" if name == "self" else name
            annotation = _annotation(function, name)
            kind = signature.parameters[name].kind
            for each in value if kind is inspect.Parameter.VAR_POSITIONAL else (value,):
                _check(each, annotation, f"{public}: {shown}", _source(signature, name))
        try:
            return function(*bound.args, **bound.kwargs)
        except OSError as error:
            if isinstance(error, ERRORS):
                raise
            raise FileError(error) from error

    call.__dict__["checks"] = True
    return call


def _usage(signature: inspect.Signature) -> str:
    names = [name for name in signature.parameters if name != "self"]
    hint = "; windows are windows_kib, in KiB" if "windows_kib" in names else ""
    return f"give arguments by name: {', '.join(names)}{hint}" if names else "give no arguments"


def _source(signature: inspect.Signature, name: str) -> str:
    text = "Start" if name == "self" else str(signature.parameters[name].annotation)
    return text.removesuffix(" | None")


@cache
def _annotation(function: Callable[..., object], name: str) -> Any:
    """Return the annotation of a parameter; names that its module lacks are public ones."""
    if name == "self":  # a public function of this name is the method: its caller gives a start
        is_method = function.__qualname__.startswith("Start.")
        return (
            import_module("foreread.analyzer.ingest.recording").Recording if is_method else object
        )
    text = inspect.signature(function).parameters[name].annotation
    return eval(text, vars(builtins), _Public(function)) if isinstance(text, str) else text


class _Public(dict[str, Any]):
    """The names of an annotation: names of the function's module, then public names."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(getattr(inspect.unwrap(function), "__globals__", {}))

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return getattr(import_module("foreread"), name)


def _check(value: object, hint: Any, what: str, source: str) -> None:
    """Raise ArgumentTypeError unless ``value`` fits; ``source`` is the text of the annotation."""
    wrong = _misfit(value, hint)
    if wrong is None:
        _check_options(value, what)
        return
    where, culprit, expected = wrong
    shown = repr(culprit)
    shown = shown if len(shown) <= _SHOWN and "\n" not in shown else f"a {type(culprit).__name__}"
    error = ArgumentError if _is_choice(culprit, hint) else ArgumentTypeError
    raise error(f"{what}{where} is {shown}, not {expected}", _remedy(source) or f"give {expected}")


def _is_choice(value: object, hint: Any) -> bool:
    """Return whether a value is of the type of an annotation's choices, but none of them."""
    if typing.get_origin(hint) is typing.Literal:
        return type(value) in map(type, typing.get_args(hint))
    return any(_is_choice(value, part) for part in typing.get_args(hint))


def _remedy(source: str) -> str | None:
    names = source.replace("[", " ").replace("]", " ").split()
    return next((text for name, text in _REMEDIES.items() if name in names), None)


def _check_options(value: object, what: str) -> None:
    """Check the fields of an object that carries options."""
    if not is_dataclass(value) or isinstance(value, type):
        return
    if not type(value).__name__.endswith(("Options", "Ending", "Budget", "Question")):
        return
    names = _Public(lambda: None) | vars(import_module(type(value).__module__))
    for option in fields(value):
        hint = (
            eval(option.type, vars(builtins), names)
            if isinstance(option.type, str)
            else option.type
        )
        _check(getattr(value, option.name), hint, f"{what}.{option.name}", str(option.type))


Misfit = tuple[str, object, str]  # the place in the argument, the value there, the expected value


def _misfit(value: object, hint: Any) -> Misfit | None:
    """Return the misfit of a value, None if it fits its annotation."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object or isinstance(hint, (TypeVar, str)):
        return None
    if hint is None:
        hint = type(None)
    if origin in (typing.Union, types.UnionType):
        return _misfit_of_union(value, parts)
    if origin is typing.Annotated:
        return _misfit(value, parts[0])
    if origin is typing.Literal:
        expected = f"one of {', '.join(map(repr, parts))}" if len(parts) > 1 else repr(parts[0])
        return (
            None
            if any(value is choice or value == choice for choice in parts)
            else ("", value, expected)
        )
    if origin is not None:
        return _misfit_of_collection(value, hint, origin, parts)
    return None if _is_a(value, hint) else ("", value, _name(hint))


def _misfit_of_union(value: object, parts: tuple[Any, ...]) -> Misfit | None:
    """Return the misfit with the part of a union that a value fits best."""
    wrong = [_misfit(value, part) for part in parts]
    if None in wrong:
        return None
    inside = next((misfit for misfit in wrong if misfit is not None and misfit[0]), None)
    if inside is not None:
        return inside
    expected = [_name(part) for part in parts if part is not type(None)]
    return "", value, " or ".join(dict.fromkeys(expected))


def _misfit_of_collection(
    value: object, hint: Any, origin: Any, parts: tuple[Any, ...]
) -> Misfit | None:
    if origin is Callable:
        return None if callable(value) else ("", value, "a function")
    if isinstance(value, (str, bytes)) or not _is_a(value, origin):
        return "", value, _name(hint)
    if not issubclass(origin, Collection):
        return None
    if origin is tuple and Ellipsis not in parts and len(typing.cast(Any, value)) != len(parts):
        return "", value, _name(hint)
    wrong = ((where, _misfit(inner, part)) for where, inner, part in _inside(value, origin, parts))
    first = next(((where, misfit) for where, misfit in wrong if misfit is not None), None)
    return None if first is None else (f"{first[0]}{first[1][0]}", *first[1][1:])


def _inside(value: Any, origin: Any, parts: tuple[Any, ...]) -> Iterator[tuple[str, object, Any]]:
    """Yield the values in a collection: where each is, the value, and its annotation."""
    if issubclass(origin, Mapping):
        for key, inner in value.items():
            yield f" key {key!r}", key, parts[0]
            yield f"[{key!r}]", inner, parts[1]
        return
    is_pair = origin is tuple and Ellipsis not in parts
    for at, inner in enumerate(value):
        yield f"[{at}]", inner, parts[at if is_pair else 0]


def _is_a(value: object, kind: Any) -> bool:
    """Return whether a value is of a class; numbers of numpy are numbers, True is none."""
    if kind in (int, float):
        return _is_number(value, kind)
    if kind is Sequence:  # an array is as good as a list
        return isinstance(value, Collection) and hasattr(value, "__getitem__")
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return isinstance(value, kind) if isinstance(kind, type) else True


def _is_number(value: Any, kind: type) -> bool:
    """Return whether a value is a finite number; an integer, for int."""
    if isinstance(value, (bool, str, bytes)):
        return False
    try:  # arrays have the methods of numbers, too
        return operator.index(value) is not None if kind is int else isfinite(value)
    except (TypeError, OverflowError):
        return False


def _name(hint: Any, several: bool = False) -> str:
    """Return the type of an annotation in words."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint][several]
    if origin in (typing.Union, types.UnionType):
        names = [_name(part, several) for part in parts if part is not type(None)]
        return " or ".join(dict.fromkeys(names))
    if origin is typing.Literal:
        return " or ".join(map(repr, parts))
    if isinstance(origin, type) and issubclass(origin, Collection):
        inner = ", ".join(_name(part, True) for part in parts if part is not Ellipsis)
        return f"{'a mapping' if issubclass(origin, Mapping) else 'a list'} of {inner}"
    return "a function" if origin is Callable else _name_of_class(hint, several)


def _name_of_class(kind: Any, several: bool) -> str:
    name = getattr(kind, "__name__", str(kind))
    if name in ("PathLike", "Path"):
        return "paths" if several else "a path"
    name = _PUBLIC.get(name, name)
    return name if several else f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
