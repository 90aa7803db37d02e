"""The last elements of a row, fewer than a vector, in vector instructions.

Clang vectorizes a loop of 127 steps as 112 steps in vectors of 16, and 15 steps one by one, which take longer than the
other 112.  AVX-512 computes a part of a vector at no extra cost, but clang uses it only where a pragma asks for it.
With the pragma, it does not interleave vectors, so a long loop without it is faster.  A loop that computes an `exp` or
similar is divided: the whole vectors, then the remainder.  A loop that reads under a condition on its index, as at the
borders of an image, is left to clang: divided, it takes twice as long.

Each call in a chain such as `sin(sin(sin(x)))` waits for the one before it.  Clang computes one vector at a time there,
and takes four times as long as for the calls alone.  A pragma makes it compute several vectors in turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from branded.backends.cpu.renderer import accumulations, kernel_marks

WIDTH = 16
"""The elements of a vector of float32."""
LONGEST, LONGEST_REDUCTION = 512, 192
"""The lengths from which the remainder costs less than the pragma: of a cheap loop, and of a reduction."""
CHEAP, DEAR = 12, 64
"""The most lines of a cheap loop, and of a loop that is divided, which takes longer to compile."""
SEVERAL, SHORTEST, MOST_CALLS = 4, 3, 16
"""The number of vectors that a chain of calls computes in turns, the calls in the shortest such chain, and the most
calls in its loop; clang takes longer for each of them."""
NAME = "PARTS_OF_VECTORS"
MACRO = f"""#if defined(__clang__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define {NAME} _Pragma("clang loop vectorize_predicate(enable)")
#else
#define {NAME}
#endif"""
_IN_TURNS = f'_Pragma("clang loop interleave_count({SEVERAL})")'
_LOOP = re.compile(r"( *)for \((int|unsigned int|long|unsigned long) (\w+) = 0; \3 < (\d+)(u?l?); \3\+\+\) \{")
_CALL = re.compile(r"\b(?:power_of_e|power_of_2|sine)\(")
_CONDITIONAL_READ = re.compile(r" = (.*?)\?\*\((.*?):")
_DEFINITION = re.compile(r" *\w+ (\w+) = ")
_TOKEN = re.compile(r"\w+\(?|[()]")
_LONG_TYPE = re.compile(r"\b(?:long|double)\b")


def vectorize(lines: Sequence[str]) -> list[str]:
    """Return a kernel whose innermost loops compute the last elements of a row with vectors.

    Args:
        lines: the body of a kernel in C, a statement per line.
    """
    return list(_with_remainders([part for text in lines for part in text.split("\n")]))


def _with_remainders(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        loop, end = _LOOP.fullmatch(lines[at]), _end(lines, at)
        if loop is None or end is None:
            yield lines[at]
            at += 1
            continue
        yield from _vectorize_loop(loop, lines[at], lines[at + 1 : end + 1])
        at = end + 1


def _end(lines: Sequence[str], at: int) -> int | None:
    """Return the line that closes an innermost loop, apart from those that clang unrolls, or None for another line."""
    inside = 0
    for i in range(at + 1, len(lines)):
        text = lines[i].strip()
        if text.endswith("{"):
            if not text.startswith(kernel_marks.PRAGMA):
                return None
            inside += 1
        elif text == "}":
            if not inside:
                return i
            inside -= 1
    return None


def _vectorize_loop(loop: re.Match[str], head: str, body: Sequence[str]) -> Iterator[str]:
    space, steps = loop[1], int(loop[4])
    whole = steps // WIDTH * WIDTH
    before, inside, after = accumulations.by_keys(space, body)
    has_long_steps = any(kernel_marks.PRAGMA in line or _CALL.search(line) for line in body)
    is_dear = len(body) > CHEAP or has_long_steps
    longest = LONGEST_REDUCTION if before or any("*(buf" in line for line in body) else LONGEST
    is_in_parts = steps < longest and len(body) <= DEAR and not any(map(_LONG_TYPE.search, body))
    if whole >= WIDTH * SEVERAL and not before and _is_chain(body):
        yield f"{space}{_IN_TURNS}"
    if whole in (0, steps) or (not has_long_steps and _reads_at_borders(loop[3], body)):
        yield from (*before, head, *inside, *after)
    elif whole > WIDTH and is_dear and not before and len(body) <= DEAR:
        yield from (head.replace(f"< {steps}", f"< {whole}"), *body)
        yield from (f"{space}{NAME}", head.replace(" = 0;", f" = {whole}{loop[5]};"), *body)
    else:
        yield from (*before, *([f"{space}{NAME}"] if is_in_parts else []), head, *inside, *after)


def _reads_at_borders(index: str, body: Sequence[str]) -> bool:
    """Return whether a loop reads under a condition that changes with its index, and another element in each step."""
    inside = {index, *(m[1] for line in body if (m := _DEFINITION.match(line)))}
    reads = [m for line in body if (m := _CONDITIONAL_READ.search(line))]
    conditions, places = ([not inside.isdisjoint(re.findall(r"\w+", m[i])) for m in reads] for i in (1, 2))
    return any(conditions) and all(places)


def _is_chain(body: Sequence[str]) -> bool:
    """Return whether a loop waits for a chain of calls, and has so few that several vectors are computed in turns."""
    return sum(len(_CALL.findall(line)) for line in body) <= MOST_CALLS and _chain_length(body) >= SHORTEST


def _chain_length(body: Sequence[str]) -> int:
    """Return the number of calls in the longest chain of calls, each of which needs the result of the one before."""
    lengths: dict[str, int] = {}
    for line in body:
        name, _, text = line.rpartition(" = ")
        chain = [0]  # the length in each open bracket, and of the calls that the brackets belong to
        for token in _TOKEN.findall(text):
            if token.endswith("("):
                chain += [int(_CALL.fullmatch(token) is not None), 0]
            elif token == ")" and len(chain) > 2:
                inner, call = chain.pop(), chain.pop()
                chain[-1] = max(chain[-1], inner + call)
            else:
                chain[-1] = max(chain[-1], lengths.get(token, 0))
        lengths[name.rpartition(" ")[2]] = chain[0]
    return max(lengths.values(), default=0)
