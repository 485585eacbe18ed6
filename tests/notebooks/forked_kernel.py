"""A kernel that has TensorFlow imported when it begins; all else in it is as in one that is started anew."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from multiprocessing.context import ForkServerProcess
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from tests.forked import forked, run_module

NAME = "forked"


class ForkingKernelManager(AsyncKernelManager):
    """Has the usual kernel, in a forked process."""

    @property
    def kernel_spec(self) -> KernelSpec | None:
        spec = super().kernel_spec
        if spec is not None:
            group = KernelProvisionerFactory.GROUP_NAME
            entry = EntryPoint(NAME, f"{__name__}:{ForkedProvisioner.__name__}", group)
            KernelProvisionerFactory.instance().provisioners[NAME] = entry
            spec.metadata = {"kernel_provisioner": {"provisioner_name": NAME}}
        return spec


class ForkedProvisioner(LocalProvisioner):
    """Looks after the kernel's process as jupyter_client does, but forks it."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        process = forked(begin, cmd[1:], kwargs["cwd"], kwargs["env"])
        self.pid = self.pgid = process.pid
        self.process = Running(process)  # type: ignore[assignment]
        return self.connection_info


@dataclass(frozen=True)
class Running:
    """A forked process, with what is asked of a `Popen`."""

    process: ForkServerProcess
    stdin: None = None
    stdout: None = None
    stderr: None = None

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        return self.process.exitcode

    def wait(self) -> int | None:
        """Its exit code, when it has ended."""
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Signal the process."""
        os.kill(self.process.pid or 0, number)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)

    terminate = kill


def begin(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """In the forked process: do what `python` does with these words, `-m` and a module with its arguments."""
    os.setsid()
    _, module, *arguments = words
    run_module(module, arguments, folder, environment)
