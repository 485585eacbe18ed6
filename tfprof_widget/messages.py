"""Hands out the package's protobuf messages, built on first use whatever the protobuf runtime."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tfprof_widget.errors import ProfileError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

    from tfprof_widget._protos import *  # noqa: F403

PACKAGE = "tfprof_widget"


if not TYPE_CHECKING:  # type checkers have the stubs, and so find the names that do not exist

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):  # asked for by tools, and no message is named so: build nothing
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return message_class(name)


@cache
def message_class(name: str) -> Any:
    """The class of a message, or the wrapper of an enum, by its name in the `.proto` files.

    >>> from tfprof_widget.messages import GraphDef
    >>> GraphDef(node=[{"name": "a", "op": "NoOp"}]).node[0].op
    'NoOp'
    >>> message_class("DataType").Name(1)
    'DT_FLOAT'
    """
    from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

    pool = _filled_pool()
    try:
        return _class_of(pool, pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
    except KeyError:
        pass
    try:
        return EnumTypeWrapper(pool.FindEnumTypeByName(f"{PACKAGE}.{name}"))
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no message or enum {name!r}") from None


def _class_of(pool: "DescriptorPool", descriptor: Any) -> Any:
    from google.protobuf import message_factory

    factory: Any = message_factory
    if hasattr(factory, "GetMessageClass"):
        return factory.GetMessageClass(descriptor)
    return factory.MessageFactory(pool).GetPrototype(descriptor)  # before protobuf 4.22


@cache
def _filled_pool() -> "DescriptorPool":
    """The process's own pool, where TensorFlow's messages are too, with the files that it has not got yet."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    pool = descriptor_pool.Default()
    for file in descriptor_pb2.FileDescriptorSet.FromString(_read_descriptors()).file:
        try:
            pool.FindFileByName(file.name)
        except KeyError:
            pool.AddSerializedFile(file.SerializeToString())
    return pool


def _read_descriptors() -> bytes:
    path = files(PACKAGE) / "_protos" / "descriptors.binpb"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ProfileError(
            f"{path} is missing: it is built, not kept in the repository;"
            " run `make build`, or `python protos/compile.py`"
        ) from None
