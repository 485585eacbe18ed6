"""Takes a ProfileProto of several workers apart into one of each, for a node has a device of its own on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfprof_widget.errors import ProfileError

if TYPE_CHECKING:
    from tfprof_widget.messages import ProfileNode, ProfileProto


def by_worker(profile: ProfileProto) -> dict[str, ProfileProto]:
    """The profile of each worker with its own step numbers, by name; empty where the profile tells of no workers.

    >>> from tfprof_widget.messages import ProfileNode, ProfileProto
    >>> message = ProfileProto(steps=[0, 1], step_workers=["a", "b"], worker_steps=[7, 7])
    >>> {worker: list(part.steps) for worker, part in by_worker(message).items()}
    {'a': [7], 'b': [7]}
    """
    if not len(profile.steps) == len(profile.step_workers) == len(profile.worker_steps):
        if not profile.step_workers and not profile.worker_steps:
            return {}
        raise ProfileError("profile: it does not tell the worker of each step; the file is damaged: save it again")
    return {worker: _of_worker(profile, worker) for worker in dict.fromkeys(profile.step_workers)}


def _of_worker(profile: ProfileProto, worker: str) -> ProfileProto:
    own = {
        step: number
        for step, number, each in zip(profile.steps, profile.worker_steps, profile.step_workers, strict=True)
        if each == worker
    }
    part = type(profile)()
    part.CopyFrom(profile)
    for name in ("steps", "step_workers", "worker_steps", "transfers"):
        part.ClearField(name)
    for transfer in profile.transfers:
        if transfer.step in own:
            part.transfers.add().CopyFrom(transfer)
            part.transfers[-1].step = own[transfer.step]
    part.steps.extend(own.values())
    for node in part.nodes.values():
        _keep(node, own)
    return part


def _keep(node: ProfileNode, own: dict[int, int]) -> None:
    """Keep what the node did in these steps, by their other numbers, and the device on which it did."""
    execs = {own[step]: found for step, found in node.execs.items() if step in own}
    kept = type(node)()
    for step, found in execs.items():
        kept.execs[step].CopyFrom(found)
    node.ClearField("execs")
    for step, found in kept.execs.items():
        node.execs[step].CopyFrom(found)
    ran_on = sorted({device for found in execs.values() for device in found.cpu_execs})
    if ran_on and node.canonical_device not in ran_on:
        node.canonical_device = ran_on[0]
