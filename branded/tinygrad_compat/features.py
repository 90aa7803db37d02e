"""The features that the installed tinygrad supports.

The tests cover one range of versions of tinygrad. On any tinygrad, whatever its version, `private_api.problems` checks
the private names that each feature needs. A feature without its names is switched off, with one warning at
import. Only if names of the core are missing does the import raise an error, which lists all of them.
"""

from __future__ import annotations

import warnings

from branded.errors import TinygradError, count_noun
from branded.tinygrad_compat import private_api

_BASES = {"backend": "native"}
"""The features without which others are off."""


def lacking(feature: str) -> dict[str, str]:
    """Return the private names that a feature, a fix or a speed patch needs and tinygrad lacks, with the problems."""
    problems = private_api.problems()
    return {**problems.get(feature, {}), **problems.get(_BASES.get(feature, ""), {})}


def fits(feature: str) -> bool:
    """Return whether the installed tinygrad has the private names that a feature, a fix or a speed patch needs."""
    return not lacking(feature)


def require(feature: str, version: str) -> None:
    """Raise an error that lists all missing names of a feature, if there are any."""
    if not fits(feature):
        error = TinygradError(
            f"tinygrad: {private_api.FEATURES[feature]} cannot work with the installed tinygrad {version}",
            *lacking(feature).items(),
            fix="pip install 'tinygrad>=0.14.0,<0.15'",
        )
        error.__notes__.clear()  # `python -m branded why` cannot be imported either
        raise error


def warn(version: str, tested: str | None) -> bool:
    """Return whether the tests cover the installed tinygrad; else warn, and list the features that are switched off.

    Args:
        version: The version of the installed tinygrad.
        tested: The versions that the tests cover if this is not one of them, else None.
    """
    problems = private_api.problems()
    if tested is None and not problems:
        return True
    names = {name for found in problems.values() for name in found}
    differs = f"differs from the tested versions in {count_noun(len(names), 'private name')}"
    known = [name for name in private_api.FEATURES if not fits(name)]
    if tested is None:
        patches = [name for name in problems if name not in known]
        problem, off = f"tinygrad {version} {differs}", [*known, *patches]
    else:  # these features depend on code of tinygrad that may have changed, even if all names exist
        problem = f"tinygrad {version} is untested; the tests passed with {tested}{f', and it {differs}' * bool(names)}"
        off = list(dict.fromkeys(["backend", "native", "fixes", "speed", *known]))
    warnings.warn(
        f"branded: {problem}. Off: {', '.join(off)}. `python -m branded doctor` shows what works",
        RuntimeWarning,
        stacklevel=5,  # the line that imports branded
    )
    return False
