"""What a profile says, whatever its dictionaries and the numbers in them."""

from __future__ import annotations

from typing import Any

from tfprof_widget.api.profile import Profile
from tfprof_widget.profiles.tables import STEP_SUMS, Allocations, CodeStacks, Executions, Lists, Outputs, Transfers

IN_ROWS = (
    "start_micros",
    "duration_micros",
    "start_nanos",
    "duration_nanos",
    "thread",
    "counts_memory",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "temporary_bytes",
    "persistent_bytes",
    "bytes_in_use",
)
IN_TOTALS = ("start_micros", "end_micros", *STEP_SUMS)


def content(profile: Profile) -> dict[str, Any]:
    """All of a profile in plain values: two profiles that say the same have the same."""
    steps = list(zip(profile.steps, profile.step_workers or ("",) * len(profile.steps), strict=True))
    elsewhere = profile.runs.elsewhere
    return {
        "nodes": nodes(profile),
        "steps": list(zip(steps, profile.step_names, strict=True)),
        "executions": executions(profile, profile.executions, steps),
        "outputs": outputs(profile, profile.outputs),
        "allocations": allocations(profile.allocations),
        "elsewhere": elsewhere
        and (
            executions(profile, elsewhere.executions, steps),
            outputs(profile, elsewhere.outputs),
            allocations(elsewhere.allocations),
            profile.runs.kept_before.tolist(),
        ),
        "runs": list(
            zip(
                [steps[step] for step in profile.runs.step.tolist()],
                profile.runs.count.tolist(),
                profile.runs.count_elsewhere.tolist(),
                profile.runs.digests,
                strict=True,
            )
        ),
        "step_totals": totals(profile, steps),
        "traces": traces(profile.traces, profile.nodes.names),
        "transfers": sorted(transfers(profile.transfers, profile.nodes.names, steps)),
        "graphs": sorted(graph.SerializeToString(deterministic=True) for graph in profile.graphs),
        "misses_accelerator_stream": profile.misses_accelerator_stream,
        "kernels": dict(profile.kernels),
        "compiled": dict(profile.compiled),
    }


def nodes(profile: Profile) -> list[Any]:
    table = profile.nodes
    ports = Lists(table.inputs.start, table.input_ports)
    return [
        {
            "name": name,
            "op": table.ops[table.op[row]],
            "types": sorted(table.type_names[code] for code in table.types[row]),
            "device": table.devices[table.device[row]] if table.device[row] >= 0 else None,
            "shape": entry(table.shapes, table.shape[row]),
            "output_shapes": [entry(table.shapes, code) for code in table.output_shapes[row]],
            "inputs": [entry(table.names, source) for source in table.inputs[row]],
            "ports": ports[row].tolist(),
            "parameters": int(table.parameters[row]),
            "float_ops": int(table.float_ops[row]),
        }
        for row, name in enumerate(table.names)
    ]


def entry(dictionary: Any, code: Any) -> Any:
    return dictionary[code] if code >= 0 else None


def executions(profile: Profile, table: Executions, steps: list[Any]) -> list[Any]:
    columns = zip(*(getattr(table, name).tolist() for name in IN_ROWS), strict=True)
    return [
        (profile.nodes.names[node], steps[step], profile.nodes.devices[device], *rest)
        for node, step, device, rest in zip(table.node, table.step, table.device, columns, strict=True)
    ]


def outputs(profile: Profile, table: Outputs) -> list[Any]:
    columns = zip(
        *(getattr(table, name).tolist() for name in ("execution", "slot", "bytes", "address", "shape")), strict=True
    )
    return [(*rest, entry(profile.nodes.shapes, shape)) for *rest, shape in columns]


def allocations(table: Allocations) -> list[Any]:
    names = ("execution", "micros", "bytes", "on_accelerator")
    return list(zip(*(getattr(table, name).tolist() for name in names), strict=True))


def totals(profile: Profile, steps: list[Any]) -> list[Any]:
    table = profile.step_totals
    columns = zip(*(getattr(table, name).tolist() for name in IN_TOTALS), strict=True)
    return [
        (profile.nodes.names[node], steps[step], *rest)
        for node, step, rest in zip(table.node, table.step, columns, strict=True)
    ]


def traces(table: CodeStacks, names: tuple[str, ...]) -> dict[str, Any]:
    text = table.strings
    frames = [
        (text[file], line, text[function], text[source], function_line)
        for file, line, function, source, function_line in zip(
            table.file, table.line, table.function, table.source, table.function_line, strict=True
        )
    ]
    stacks = [tuple(frames[frame] for frame in table.stacks[row]) for row in range(len(table.stacks))]
    return {
        "stack": {name: stacks[stack] for name, stack in zip(names, table.stack, strict=True) if stack >= 0},
        "forward": {names[node]: names[of] for node, of in table.forward.items()},
        "live": {frames[frame] for frame in table.live},
    }


def transfers(table: Transfers, names: tuple[str, ...], steps: list[Any]) -> list[Any]:
    return [
        (
            steps[table.step[row]],
            table.kinds[table.kind[row]],
            str(entry(table.devices, table.source[row])),
            str(entry(table.devices, table.target[row])),
            str(entry(table.tensors, table.tensor[row])),
            str(entry(names, table.node[row])),
            int(table.start_nanos[row]),
            int(table.duration_nanos[row]),
            int(table.bytes[row]),
        )
        for row in range(len(table))
    ]
