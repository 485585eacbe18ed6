"""Gives the profile of a two-layer network that is recorded in the package, for examples; as a program, its op view."""

from __future__ import annotations

from importlib.resources import files

from tfprof_widget.api.profile import Profile


def recorded(part: str) -> bytes:
    """The content of a recorded file: "graph", "run_meta" or "op_log".

    >>> len(recorded("graph")) > 1000
    True
    """
    return (files("tfprof_widget") / "recorded" / f"{part}.binpb").read_bytes()


def demo_profile() -> Profile:
    """The profile of one training step of a small network, recorded once and shipped with the package.

    >>> demo_profile().steps
    (0,)
    """
    return Profile.from_protos(recorded("graph"), recorded("run_meta"), recorded("op_log"))


def main() -> None:
    """Print the costliest op types of the small network."""
    select = ["micros", "bytes", "float_ops", "occurrence"]
    print(demo_profile().view("op", order_by="micros", select=select).text())


if __name__ == "__main__":
    main()
