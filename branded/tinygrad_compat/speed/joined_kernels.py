"""Compile several kernels as one C file, and split the object file into one for each kernel.

For each file, the C compiler spends 5 ms before it reads the kernel: as long as for a small kernel. Here each kernel
has its own section, and its copy of the object file has no other kernels. The names at the top level of a source get
a number, because two sources may define the same helper functions.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

from branded.tinygrad_compat.speed import clang_batches

_SECTION = ".text.kernel"
"""The start of the names of sections; that of kernel 2 is `.text.kernel2`."""
_FUNCTION, _TYPE, _ARRAY = (
    r"^(?:static|void)\b.*?\b(\w+)\((?!\()",
    r"^typedef .*?(\w+) __attribute__",
    r"(\w+)\[\d+\] = \{",
)
_NAMES = re.compile(f"{_FUNCTION}|{_TYPE}|{_ARRAY}", re.M)
_MACROS = re.compile(r"^#define (\w+)", re.M)
_NULL = 0
"""The type of a section that a loader leaves out."""
_failed: list[str] = []
"""A file that clang rejected, after which each kernel has its own file: its error then names the kernel."""


def compile_together(compiler: Any, sources: Sequence[str]) -> list[bytes] | None:
    """Return the object files of the kernels, or None if they have to be compiled one by one."""
    if len(sources) < 2 or _failed or not clang_batches.runs(compiler):
        return None
    if (code := clang_batches.compile_source(compiler, (text := join_sources(sources)).encode())) is None:
        _failed.append(text)
        return None
    return split_object(code, len(sources))


def join_sources(sources: Sequence[str]) -> str:
    """Return one C file with these sources, in which the sections of the kernels come first and in order."""
    sections = "".join(f'.section {_SECTION}{i},\\"ax\\",@progbits\\n' for i in range(len(sources)))
    return f'__asm__("{sections}.text");\n' + "".join(map(_number_names, range(len(sources)), sources))


def _number_names(number: int, source: str) -> str:
    names = {name for found in _NAMES.findall(source) for name in found if name}
    lines = [f'#pragma clang section text="{_SECTION}{number}"']
    lines += [*(f"#define {name} {name}_{number}" for name in sorted(names)), source]
    lines += [f"#undef {name}" for name in sorted({*names, *_MACROS.findall(source)})]
    return "\n".join(lines) + "\n"


def split_object(code: bytes, count: int) -> list[bytes]:
    """Return the object file of each kernel: the whole file, without the sections of the others."""
    (table,), (entry, entries, of_names) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<3H", code, 58)
    headers = [table + i * entry for i in range(entries)]
    (names,) = struct.unpack_from("<Q", code, headers[of_names] + 24)
    parts = [bytearray(code) for _ in range(count)]
    for header in headers:
        start = names + struct.unpack_from("<I", code, header)[0]
        _, found, number = code[start : code.index(b"\0", start)].decode().partition(_SECTION)
        for i, part in enumerate(parts):
            if found and int(number) != i:
                struct.pack_into("<I", part, header + 4, _NULL)
    return list(map(bytes, parts))
