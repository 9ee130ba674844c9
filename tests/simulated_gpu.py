"""GPUs that are only names, for a machine without one: the CPU computes what is
computed on them.

As on CUDA, operations on tensors of two devices are refused, and so is `numpy()`.
FakeTensorMode does not do: it has no numbers.
"""

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import modeling_utils

aten = torch.ops.aten
CPU = torch.device("cpu")
MEMORY = 80_000_000_000
_INDEXED = {
    aten.index,
    aten.index_put,
    aten.index_put_,
    aten._unsafe_index,
    aten._index_put_impl_,
}


class GPUTensor(torch.Tensor):
    """`on_cpu` holds the numbers; to torch's own code it is a tensor of the device
    `meta`."""

    @staticmethod
    def __new__(cls, on_cpu: torch.Tensor, gpu: torch.device) -> "GPUTensor":
        return torch.Tensor._make_wrapper_subclass(
            cls,
            on_cpu.size(),
            strides=on_cpu.stride(),
            storage_offset=on_cpu.storage_offset(),
            dtype=on_cpu.dtype,
            layout=on_cpu.layout,
            device="meta",
        )

    def __init__(self, on_cpu: torch.Tensor, gpu: torch.device) -> None:
        self.on_cpu, self.gpu = on_cpu, gpu

    device = property(lambda self: self.gpu)
    is_cuda = property(lambda self: True)
    is_cpu = is_meta = property(lambda self: False)

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        raise RuntimeError(f"{operation} on a GPU that is no longer simulated")

    def numpy(self, **_: Any) -> None:
        raise TypeError(
            f"can't convert {self.gpu} device type tensor to numpy. Use Tensor.cpu() "
            "first."
        )

    def __getitem__(self, index: Any) -> torch.Tensor:
        """Torch's own code would bring a list to the device `meta`."""
        index = index if isinstance(index, tuple) else (index,)
        return super().__getitem__(
            tuple(
                torch.tensor(part) if isinstance(part, list) else part for part in index
            )
        )

    def tolist(self) -> list:
        return self.cpu().tolist()


class SimulatedGPUs(TorchDispatchMode):
    """A machine with two GPUs while it is entered, each with `free` bytes of 80 GB.

    `operations`: how many ran on GPUs. At the operations of these numbers in `full`,
    memory does not suffice.
    """

    def __init__(self, free: int = MEMORY) -> None:
        super().__init__()
        self.free = free
        self.operations = 0
        self.full: set[int] = set()

    def __enter__(self):
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(torch.cuda, "_lazy_init", lambda: None)
        self._patch.setattr(
            torch.cuda, "get_device_capability", lambda gpu=None: (8, 0)
        )
        for name, answer in {
            "is_available": True,
            "device_count": 2,
            "current_device": 0,
            "mem_get_info": (self.free, MEMORY),
            "memory_reserved": 0,
            "memory_allocated": 0,
            "set_device": None,
            "is_bf16_supported": True,
        }.items():
            self._patch.setattr(
                torch.cuda, name, lambda *_, answer=answer, **__: answer
            )
        # jobs on one machine hold GPUs by their uuid, and each process simulates its
        # own
        self._patch.setattr(
            torch.cuda,
            "get_device_properties",
            lambda gpu=0: SimpleNamespace(
                name="a simulated GPU",
                total_memory=MEMORY,
                uuid=f"simulated-{os.getpid()}-{gpu}",
            ),
        )
        self._patch.setattr(
            modeling_utils, "_get_device_map", _spelled(modeling_utils._get_device_map)
        )
        # another thread would not see the GPUs
        self._patch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
        self._patch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
        # torch.tensor(..., device=) comes here as a copy
        torch._C._set_only_lift_cpu_tensors(True)
        return super().__enter__()

    def __exit__(self, *error):
        torch._C._set_only_lift_cpu_tensors(False)
        self._patch.undo()
        return super().__exit__(*error)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Answer False: torch's guard against compiling costs as much as an
        operation."""
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs, packet = kwargs or {}, operation.overloadpacket
        tensors: list[torch.Tensor] = []
        real_args, real_kwargs = _real(args, tensors), {}
        devices = [value for value in args if isinstance(value, torch.device)]
        for name, value in kwargs.items():
            real_kwargs[name] = _real(value, tensors)
            if isinstance(value, torch.device):
                devices.append(value)
        device = _device_of_result(packet, tensors, devices)
        if packet is aten._to_copy and _lies_there(tensors[0], device, kwargs):
            return tensors[0]
        if device != CPU and not operation.is_view:  # a view takes no memory
            self.operations += 1
            if self.operations in self.full:
                raise torch.OutOfMemoryError(
                    f"CUDA out of memory: operation {self.operations}"
                )
        # narrow numbers with sums in float32: so too
        if operation in (aten.mm.dtype, aten.mm.dtype_out):
            left, right = real_args[:2]
            real_args = left.float(), right.float()
            real_kwargs = {key: real_kwargs[key] for key in real_kwargs if key == "out"}
            operation = aten.mm.out if real_kwargs else aten.mm.default
        operation = _KERNELS.get(packet, operation)
        if packet is aten.histc:  # of whole numbers CUDA alone has it
            real_args = real_args[0].float(), *real_args[1:]
        result = operation(*real_args, **real_kwargs)
        with torch.inference_mode(False):
            return _placed(result, tensors, device)


def _lies_there(tensor: torch.Tensor, device: torch.device, options: dict) -> bool:
    """Whether a copy would have the tensor's device and number type."""
    return tensor.device == device and options.get("dtype") in (None, tensor.dtype)


def _placed(value: Any, arguments: list[torch.Tensor], device: torch.device) -> Any:
    """Put what an operation returned on `device`.

    An operation in place returns an argument, which stays the same tensor.
    """
    if isinstance(value, (list, tuple)):
        return type(value)(_placed(part, arguments, device) for part in value)
    if not isinstance(value, torch.Tensor):
        return value
    for argument in arguments:
        if _on_cpu(argument) is value:
            if argument.device == device:
                return argument
            value = value.clone()
            break
    return value if device == CPU else GPUTensor(value, device)


def _flash(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float = 0.0,
    is_causal: bool = False, debug: bool = False, *, scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """As CUDA's flash attention, which refuses float32 and some widths."""
    if query.dtype == torch.float32:
        raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
    if query.shape[-1] % 8 or query.shape[-1] > 256:
        raise RuntimeError(
            "FlashAttention forward only supports head dimension at most 256 that is 8 "
            "n"
        )
    return aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, is_causal=is_causal, scale=scale
    )


def _efficient(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_bias: None,
    compute_log_sumexp: bool, dropout: float = 0.0, is_causal: bool = False, *,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """As CUDA's efficient attention, which knows no grouped heads and fills up its
    sums."""
    if query.shape[1] != key.shape[1]:
        raise RuntimeError("efficient attention has no grouped heads")
    read, log_sums = aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, is_causal=is_causal, scale=scale
    )
    return read, torch.nn.functional.pad(
        log_sums, (0, -log_sums.shape[-1] % 32), value=float("inf")
    )


_KERNELS = {
    aten._scaled_dot_product_flash_attention: _flash,
    aten._scaled_dot_product_efficient_attention: _efficient,
}


def _device_of_result(
    operation: Any, tensors: list[torch.Tensor], named: list[torch.device]
) -> torch.device:
    """Return the device of the result, the first of `named` if an argument names one.

    Raises as CUDA does for tensors that lie on several devices.
    """
    device = _numbered(named[0]) if named else None
    if operation is aten.copy_:
        return tensors[0].device
    if operation in (aten.to, aten._to_copy):
        return device or tensors[-1].device
    found: list[torch.device] = []
    for place, tensor in enumerate(tensors):
        own = tensor.gpu if type(tensor) is GPUTensor else CPU
        # numbers of the CPU go along with each call, and tensors index from there
        is_index = bool(place) and operation in _INDEXED
        goes_along = own == CPU and (is_index or not tensor.dim())
        if own not in found and not goes_along:
            found.append(own)
    if len(found) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two "
            f"devices, {' and '.join(map(str, found))}! ({operation})"
        )
    return device or next(iter(found), CPU)


def _spelled(place: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function name GPUs as cuda:N: torch without CUDA refuses their bare
    numbers."""

    def placed(*arguments: Any, **options: Any) -> Any:
        devices = place(*arguments, **options) or {}
        return {
            module: f"cuda:{device}" if isinstance(device, int) else device
            for module, device in devices.items()
        } or None

    return placed


def _numbered(device: torch.device) -> torch.device:
    return (
        torch.device("cuda", 0)
        if device.type == "cuda" and device.index is None
        else device
    )


def _real(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Return an argument as the CPU computes with it; add its tensors to `tensors`."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([_real(part, tensors) for part in value])
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _on_cpu(value)
    return CPU if kind is torch.device else value


def _on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.on_cpu if type(tensor) is GPUTensor else tensor


def spread(model: Any, gpus: int) -> Any:
    """The model on one simulated GPU, or its layers on two, as accelerate places them
    for transformers."""
    if gpus == 1:
        return model.to("cuda:0")
    from accelerate import dispatch_model, infer_auto_device_map

    size = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    parts = infer_auto_device_map(
        model,
        max_memory={0: 0.7 * size, 1: 2 * size},
        no_split_module_classes=model._no_split_modules,
    )
    assert set(parts.values()) == {0, 1}, parts
    named = {module: f"cuda:{gpu}" for module, gpu in parts.items()}
    return dispatch_model(
        model, named, main_device="cuda:0", skip_keys=model._skip_keys_device_placement
    )
