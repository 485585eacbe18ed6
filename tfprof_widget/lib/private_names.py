"""Lists every private name of other packages that is used, and tells which of them are gone in this environment."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from types import CodeType
from typing import Any

from tfprof_widget.lib.errors import value_error

_HEAD = re.compile(r"\[(.+?)\] ([\w. ]+): (.+)")
_PLACE = re.compile(
    r"(?P<module>[\w.]+)(?::(?P<path>[\w.]+))?"
    r"(?:\((?P<parameters>[\w, ]+)\)| > (?P<attribute>\w+)| ! (?P<symbol>\w+))?"
)


@dataclass(frozen=True)
class PrivateName:
    """A private name, the modules of this package that use it, and what a user sees when it is gone.

    The `probe` says where the name is: at `module:path`, which has to take the parameters that follow in brackets, if
    any. `module:path > name` is an attribute that the code of this function or class uses, and `module ! name` a symbol
    of a library. Several places, for several versions, are separated by ` | `. A name without a probe is a spelling
    that only texts of a run have, such as names of events; `seen_in` is the kind of these texts.
    """

    name: str
    package: str
    used_by: tuple[str, ...]
    when_gone: str
    probe: str
    seen_in: str = ""

    def is_gone(self) -> bool:
        """Whether the name is gone from its package; False if the package is not installed or the name has no probe."""
        return bool(self.probe) and _is_installed(self.package) and not any(map(_is_there, self.probe.split(" | ")))


@cache
def private_names() -> tuple[PrivateName, ...]:
    """All private names, in the order of the table.

    >>> next(each.when_gone for each in private_names() if each.name == "ProfilerSession")
    'A note: steps are only timed.'
    """
    found: list[PrivateName] = []
    package = used_by = when_gone = ""
    for line in re.sub(r"\n(?=[|(=])", " ", _TABLE.strip()).replace(" (", "(").splitlines():
        if head := _HEAD.fullmatch(line):
            package, used_by, when_gone = head.groups()
            continue
        name, _, probe = line.rpartition(" = ")
        if probe.isalpha():
            found.append(PrivateName(name, package, tuple(used_by.split()), when_gone, "", seen_in=probe))
        elif place := _PLACE.match(probe):
            name = name or place["attribute"] or place["symbol"] or place["path"]
            found.append(PrivateName(name, package, tuple(used_by.split()), when_gone, probe))
    return tuple(found)


def gone_names(*packages: str) -> list[PrivateName]:
    """The private names that are gone from these packages, or else from all; packages not installed are left out.

    >>> gone_names("no_such_package")
    []
    """
    return [each for each in private_names() if each.package in (packages or (each.package,)) and each.is_gone()]


def _is_installed(package: str) -> bool:
    with suppress(ModuleNotFoundError):  # of the parent package
        return find_spec(package) is not None
    return False


def _is_there(place: str) -> bool:
    if (match := _PLACE.fullmatch(place)) is None:
        raise value_error(f"{place!r} is no probe: see PrivateName")
    module, path, parameters, attribute, symbol = match.groups()
    try:
        found: Any = import_module(module)
        if symbol:
            return hasattr(ctypes.CDLL(found.__file__), symbol)
        found = reduce(_attribute, path.split("."), found)
        if attribute:
            return attribute in _names_in(found)
        wanted = parameters.split(", ") if parameters else []
        return [name for name in (signature(found).parameters if wanted else ()) if name in wanted] == wanted
    except (AttributeError, ImportError, OSError, TypeError, ValueError):
        return False


def _attribute(owner: Any, name: str) -> Any:
    """An attribute; of a class only if the class or a base defines it, and not if every class has it."""
    if isinstance(owner, type) and not any(name in vars(each) for each in owner.__mro__[:-1]):
        raise AttributeError(name)
    return getattr(owner, name)


def _names_in(code: Any) -> Iterator[str]:
    """The names that a function's code uses; for a class, the names that the code of its functions uses."""
    if isinstance(code, type):
        for each in vars(code).values():
            yield from _names_in(each)
    code = getattr(code, "__code__", code)
    if isinstance(code, CodeType):
        yield from code.co_names
        for each in code.co_consts:
            yield from _names_in(each)


# A group begins with a package, our modules, and what a user sees when one of its names is gone. Each other line has a
# probe, or `name = kind` for a name found only in texts of that kind in a run; one with (, | or = continues a line.
_TABLE = r"""
[tensorflow] capturing.session_hooks: A note: what runs through it is missing, or capturing stopped early.
tensorflow.python.client.session:BaseSession._call_tf_sessionrun
(self, options, feed_dict, fetch_list, target_list, run_metadata)
tensorflow.python.client.session:BaseSession._call_tf_sessionprun(self, handle, feed_dict, fetch_list)
tensorflow.python.client.session:BaseSession._Callable.__init__(self, session, callable_options)
tensorflow.python.client.session:BaseSession._Callable.__call__
tensorflow.python.client.session:tf_session.TF_GetBuffer
[tensorflow] capturing.session_hooks: Capturing stops early, with a note.
tensorflow.python.client.session:tf_session.TF_NewBuffer
tensorflow.python.client.session:tf_session.TF_NewBufferFromString
tensorflow.python.client.session:tf_session.TF_DeleteBuffer
tensorflow.python.client.session:tf_session.TF_OperationName
tensorflow.python.client.session:tf_session.TF_Output.oper
tensorflow.python.client.session:config_pb2.RunOptions
tensorflow.python.client.session:config_pb2.RunMetadata
tensorflow.python.client.session:BaseSession._Callable > _session
[tensorflow] capturing.session_hooks: Nothing is said: a closed session's error shows frames of the hooks.
tensorflow.python.client.session:BaseSession > _closed
[tensorflow] capturing.session_hooks: A note: ops of a cluster's other tasks are missing.
tensorflow.python.client.session:BaseSession.sess_str
[tensorflow] capturing.session_hooks capturing.tf_profiler: A note: kernels of accelerators are missing.
tensorflow.python.profiler.profiler_v2:_profiler
[tensorflow] capturing.tf_profiler: A note: steps are only timed.
tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession
[tensorflow] capturing.tf_profiler: Capturing stops early, with a note.
tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession.start
tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession.export_to_tb
tensorflow.python.framework.errors_impl:AlreadyExistsError
[tensorflow] capturing.tf_profiler: A note: ops of a few microseconds are missing after a hundred runs.
tensorflow.python.profiler.internal._pywrap_profiler ! _ZN3tsl8profiler8internal13g_trace_levelE
[tensorflow] capturing.collectives: A note: collectives are only timed, even if TensorFlow no longer crashes in them.
_ZN3tsl8profiler15TraceMeRecorder5FlushEv
= tensorflow.python.profiler.internal._pywrap_profiler ! _ZN3tsl8profiler15TraceMeRecorder4StopEv
[tensorflow] capturing.called_functions: Nothing is said: TensorFlow 2.21 may crash in collectives.
tensorflow.python.framework.ops:Graph > _functions
[tensorflow] capturing.collectives: Nothing is said: TensorFlow 2.21 may crash in collectives.
tensorflow.python.eager.context:context_safe
tensorflow.python.eager.context:Context > _collective_ops_server_def
tensorflow.python.eager.context:Context.enable_collective_ops
tensorflow.dtensor.python.api:_dtensor_singleton
tensorflow.dtensor.python.dtensor_device:DTensorDevice.__init__
group_key = tensorflow.python.ops.collective_ops:all_reduce(group_key)
[tensorflow] capturing.tf_profiler: Nothing is said: float operations of eager ops are unknown.
tensorflow.python.eager.context:Context.add_op_callback > _thread_local_data
tensorflow.python.framework.ops:_EagerTensorBase > _shape_tuple
tensorflow.python.eager.execute:execute_with_callbacks
[tensorflow] capturing.surroundings: A comparison does not tell whether the numbers of threads differ.
tensorflow.python.eager.context:context_safe
tensorflow.python.eager.context:Context > _initialized
[tensorflow] capturing.servers: A note: a coordinator's steps are only timed.
tensorflow.python.eager.context:Context > _server_def
tensorflow.python.profiler.profiler_client:trace(num_tracing_attempts)
[tensorflow] capturing.function_hooks: A note: calls of functions are missing.
tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.__call__
tensorflow.python.eager.context:executing_eagerly
[tensorflow] capturing.called_functions: A note: retraced functions count as steady steps.
tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.experimental_get_tracing_count
[tensorflow] capturing.function_hooks: Nothing is said: functions are called `function`.
tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.python_function
tensorflow.python.eager.polymorphic_function.polymorphic_function:Function > _name
[tensorflow] capturing.function_hooks: A note: ops of functions have no shapes, lines and layers.
tensorflow.python.eager.polymorphic_function.atomic_function:AtomicFunction.call_flat
| tensorflow.python.eager.polymorphic_function.atomic_function:AtomicFunction.__call__
| tensorflow.python.eager.polymorphic_function.monomorphic_function:_EagerDefinedFunction.call
[tensorflow] capturing.called_functions: Capturing stops early, with a note.
tensorflow.python.eager.polymorphic_function.atomic_function:AtomicFunction.name
| tensorflow.python.eager.polymorphic_function.monomorphic_function:_EagerDefinedFunction.name
tensorflow.python.eager.polymorphic_function.atomic_function:AtomicFunction.graph
| tensorflow.python.eager.polymorphic_function.monomorphic_function:_EagerDefinedFunction > graph
[tensorflow] capturing.called_functions: A note: ops of tf.data have no lines and shapes.
tensorflow.python.data.ops.dataset_ops:DatasetV2._functions
tensorflow.python.data.ops.structured_function:StructuredFunctionWrapper.function
tensorflow.python.data.ops.structured_function:StructuredFunctionWrapper > _func
[tensorflow] capturing.called_functions: Nothing is said: stages of tf.data are missing.
tensorflow.python.data.ops.dataset_ops:DatasetV2._inputs
[tensorflow] capturing.function_hooks: A note: ops of tf.data have no lines and shapes.
tensorflow.python.data.ops.iterator_ops:OwnedIterator._create_iterator(self, dataset)
[tensorflow] capturing.hooks: Nothing is said: tracebacks have a frame of the hooks.
tensorflow.python.util.traceback_utils:include_frame
[tensorflow] ingest.live.graph: That graph is lost, with a note; `profile` raises AttributeError.
tensorflow.python.framework.ops:Graph.version
tensorflow.python.framework.ops:Graph.get_operations
tensorflow.python.framework.ops:get_default_graph
tensorflow.python.eager.context:executing_eagerly
tensorflow.core.framework.attr_value_pb2:AttrValue
[tensorflow] ingest.live.graph: Nothing is missing: shapes take twice as long to read.
tensorflow.python.framework.ops:SymbolicTensor._shape | tensorflow.python.framework.ops:Tensor._shape
[tensorflow] ingest.live.op_log: A note: formulas registered with TensorFlow are missing; ours count.
tensorflow.python.framework.ops:_stats_registry.list
tensorflow.python.framework.ops:_stats_registry.lookup
tensorflow.python.framework.ops:get_stats_for_node_def
tensorflow.python.framework.tensor_shape:TensorShape
tensorflow.python.profiler.internal.flops_registry:ops
tensorflow.python.util.deprecation:silence
[tensorflow] ingest.live.called: A note: ops that a function calls keep the names under which they ran.
tensorflow.python.framework.ops:Graph._get_function(self, name)
tensorflow.python.framework.func_graph:FuncGraph.outer_graph
[tensorflow] ingest.live.called: Nothing is said: ops of layers GRU and LSTM of Keras 2 have no layers and lines.
tensorflow.python.framework.ops:Graph > _functions
tensorflow.python.eager.polymorphic_function.atomic_function:AtomicFunction.cached_definition
| tensorflow.python.eager.polymorphic_function.atomic_function:AtomicFunction.definition
| tensorflow.python.eager.function:_EagerDefinedFunction.definition
[tensorflow] ingest.live.graph: A note: the graph of a function could not be read.
tensorflow.python.framework.func_graph:FuncGraph.captures
[tensorflow] ingest.live.graph: Nothing is said: the variables of functions are missing.
tensorflow.python.framework.func_graph:FuncGraph > _weak_variables
[tensorflow] ingest.live.stacks: A note: lines of code are missing.
tensorflow.python.framework.ops:Operation.traceback
[tensorflow] ingest.live.captures: Nothing is missing: stacks are compared, which is slower.
tensorflow.python.util.tf_stack:extract_stack
POINTERS = memory
[tensorflow] capturing.kept_code: A note tells how many ops have no line of code.
tensorflow.python.framework.ops:_reconstruct_sequence_inputs
[tensorflow] ingest.xspace.threads: Nothing is said: threads of tf.data have the name of their pool.
tf_data_ = line
[tensorflow] ingest.xspace.events: Nothing is said: executions, memory or threads of functions are missing.
/host:CPU = plane
EagerExecute = event
KernelAndDeviceFunc::Run = event
ExecutorState::ProcessAsync::Start = event
MemoryAllocation = event
MemoryDeallocation = event
Iterator:: = event
OP = event
_COMPILED = event
is_func = stat
eager_op = stat
kernel_type = stat
shape = stat
addr = stat
requested_bytes = stat
bytes_allocated = stat
region_type = stat
index_on_host = accelerator
[tensorflow] ingest.xspace.space: Nothing is said: times of kernels and copies are missing, or count from another time.
profile_start_time = stat
Stream  = accelerator
XLA Ops = accelerator
Async XLA Ops = accelerator
XLA Modules = accelerator
[tensorflow] ingest.xspace.kernels: Nothing is said: copies, and the ops of kernels, are missing.
tf_op = accelerator
memcpy_details = accelerator
hlo_op = accelerator
shape_with_layout = accelerator
[tensorflow] ingest.xspace.accelerators: Nothing is said: what devices can do is missing.
memory_size = accelerator
[tensorflow] ingest.xspace.hlo: Nothing is said: ops of XLA have no lines of code.
/host:metadata = accelerator
Hlo Proto = accelerator
[tensorflow] ingest.xspace.exchanges: Nothing is said: transfers between devices are missing.
_SEND = cluster
_COLLECTIVE = cluster
step_id = cluster
[tensorflow] ingest.xspace.steps: Nothing is said: steps of a trace from a file are missing.
step_num = stat
group_id = accelerator
[tensorflow] ingest.parts.names: Nothing is said: ops of functions have no shapes, lines and layers.
_WAY_OF_CALLING = function
_INLINED = ran
_CALLS = event
_BODY = body
TAPE = event
GRADIENTS = event
_REPLICA = strategy
[tensorflow] capturing.function_hooks: Nothing is said: gradients of functions are steps of the functions' names.
__backward_ = function
[tensorflow] ingest.live.called: Nothing is said: no note on functions that XLA compiles.
_XlaMustCompile = attribute
[tensorflow] ingest.run_metadata: Nothing is said: fused kernels of sessions count as the op in the graph.
_LABEL = label
[tensorflow] ingest.gathered: Nothing is said: feeds and fetches are not recognised as nodes of the graph.
_FED_OR_FETCHED = ran
[tensorflow] ingest.flops.node_reader: Nothing is said: float operations that need the shapes of feeds are missing.
_FED = ran
[tensorflow] ingest.parts.transfers: Nothing is said: transfers of sessions are missing.
_EDGE = cluster
_RECEIVE = cluster
_COPY = accelerator
_LINE = accelerator
[tensorflow] profiles.devices: Nothing is said: time of accelerators is missing.
_CANONICAL = device
[keras] capturing.function_hooks: A note: steps count as calls of the train function.
keras.src.backend.tensorflow.trainer:TensorFlowTrainer.make_train_function
| keras.src.engine.training:Model.make_train_function | keras.engine.training:Model.make_train_function
keras.src.backend.tensorflow.trainer:TensorFlowTrainer.make_test_function
| keras.src.engine.training:Model.make_test_function | keras.engine.training:Model.make_test_function
keras.src.backend.tensorflow.trainer:TensorFlowTrainer.make_predict_function
| keras.src.engine.training:Model.make_predict_function | keras.engine.training:Model.make_predict_function
[tf_keras] capturing.function_hooks: A note: steps count as calls of the train function.
tf_keras.src.engine.training:Model.make_train_function
tf_keras.src.engine.training:Model.make_test_function
tf_keras.src.engine.training:Model.make_predict_function
[tensorflow] capturing.time_hooks: Nothing is said: that time is of other parts of the cell.
tensorflow.python.framework.func_graph:func_graph_from_py_func
tensorflow.python.checkpoint.checkpoint:Checkpoint.save
tensorflow.python.training.saver:Saver.save
[keras] capturing.time_hooks: Nothing is said: that phase is of other parts of the cell.
keras.src.backend.tensorflow.trainer:TensorFlowTrainer.fit | keras.src.engine.training:Model.fit
| keras.engine.training:Model.fit
keras.src.models.model:Model.save | keras.src.engine.training:Model.save | keras.engine.training:Model.save
keras.src.callbacks.callback_list:CallbackList.__init__ | keras.callbacks:CallbackList.__init__
[tf_keras] capturing.time_hooks: Nothing is said: that phase is of other parts of the cell.
tf_keras.src.engine.training:Model.fit
tf_keras.src.callbacks:CallbackList.__init__
[tensorflow] capturing.models: Nothing is said: layers of models given to functions have the names of scopes.
tensorflow.python.eager.polymorphic_function.polymorphic_function:Function > _function_cache
tensorflow.core.function.trace_type.default_types:Weakref > _ref
[keras] capturing.models: A note: layers and variables have TensorFlow's names.
keras.src.layers.layer:Layer._flatten_layers
| keras.src.engine.base_layer:Layer._flatten_layers | keras.engine.base_layer:Layer._flatten_layers
keras.src.layers.layer:Layer > _layers
| keras.src.engine.base_layer:Layer._flatten_layers | keras.engine.base_layer:Layer._flatten_layers
[tf_keras] capturing.models: A note: layers and variables have TensorFlow's names.
tf_keras.src.engine.base_layer:Layer._flatten_layers
[keras] capturing.hooks: Nothing is said: tracebacks have a frame of the hooks.
keras.src.utils.traceback_utils:include_frame | keras.utils.traceback_utils:include_frame
[tf_keras] capturing.hooks: Nothing is said: tracebacks have a frame of the hooks.
tf_keras.src.utils.traceback_utils:include_frame
[IPython] magic.cell: The cell runs unprofiled, with a note.
IPython.core.interactiveshell:InteractiveShell.run_cell_async
[IPython] magic.cell: Nothing is said: cells cannot await, and their second line counts as line 1.
_CELL_MAGIC = cell
[IPython] magic: A note at %load_ext: cells cannot await, and their second line counts as line 1.
IPython.core.interactiveshell:InteractiveShell.input_transformers_post
[IPython] magic: A note at %unload_ext: the magics stay.
IPython.core.magic:MagicsManager.registry
IPython.core.magic:MagicsManager.magics
[IPython] magic: A note at %load_ext: arguments are not completed.
IPython.core.completer:Completer > custom_matchers
[IPython] magic.arguments: Nothing is said: arguments are not completed, or `$name` and `{name}` stay as they are.
IPython.core.completer:context_matcher
IPython.core.completer:SimpleCompletion
IPython.utils.text:DollarFormatter
[IPython] magic.cell: `%tfprof` before an expression raises AttributeError.
IPython.core.interactiveshell:InteractiveShell.transform_ast
IPython.core.compilerop:CachingCompiler.ast_parse
[IPython] api.result: Nothing is said: the widget shows at a terminal.
IPython.core.formatters:DisplayFormatter.active_types
[IPython] api.captured: Nothing is said: cells have file names instead of `In[2]`.
IPython.core.compilerop:CachingCompiler.format_code_name
[ipykernel] magic.profiling: Nothing is said: results are printed as text; no line of progress.
ipykernel.zmqshell:ZMQInteractiveShell.kernel
ipykernel.zmqshell:ZMQDisplayPublisher.publish(data, metadata, transient, update)
[ipykernel] magic.live_view: Nothing is said: no view of the running cell, or none after `clear_output`.
ipykernel.zmqshell:ZMQDisplayPublisher.publish(data, metadata, transient, update)
ipykernel.zmqshell:ZMQDisplayPublisher.register_hook
[ipykernel] parallel.errands: Nothing is said: an engine whose cell awaits may never answer.
ipykernel.kernelbase:Kernel.shell_channel_thread
[IPython] parallel.errands: Nothing is said: an engine whose cell awaits may never answer.
IPython.core.interactiveshell:InteractiveShell.should_run_async
[ipykernel] parallel.errands: Nothing is said: the same cell on several engines counts as several.
ipykernel_ = ipykernel.compiler:get_tmp_directory
[ipyparallel] parallel.engines: A UsageError, or ProfileError, names it and the version before anything runs.
ipyparallel:Client
ipyparallel:Client.abort
ipyparallel:Client.send_signal
ipyparallel:Client.wait
ipyparallel:Cluster
ipyparallel:ClusterManager.load_clusters(profile_dir)
ipyparallel.client.view:View
ipyparallel:AsyncResult.stream_output
ipyparallel:AsyncResult.wait_for_output
ipyparallel:RemoteError > ename
[ipyparallel] parallel.joining: A UsageError, or ProfileError, names it and the version before anything runs.
ipyparallel.error:CompositeError
[anywidget] widget.traits: A line that names the version stands above the table that is shown in the widget's place.
anywidget:WidgetTrait
anywidget:AnyWidget._repr_mimebundle_
[ipywidgets] widget.traits: A line that names the version stands above the table that is shown in the widget's place.
ipywidgets:Widget.comm
[anywidget] widget.traits: Nothing is said: the widget stays empty.
_esm = anywidget.widget:AnyWidget > _ESM_KEY
[google.protobuf] lib.messages: ImportError or AttributeError with the first message.
google.protobuf.internal.enum_type_wrapper:EnumTypeWrapper
google.protobuf.message_factory:GetMessageClass | google.protobuf.message_factory:MessageFactory.GetPrototype
"""
