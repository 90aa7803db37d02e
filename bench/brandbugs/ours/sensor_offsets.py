"""The readings of sensors, corrected by an offset of each sensor.

Mistake: escape: the value is returned from the block of its brand without leaving the brand.
"""

from tinygrad import Tensor

from branded import Brand, brand


class Sensors(Brand):
    """One example is one sensor."""


def corrected(readings: Tensor, offsets: Tensor) -> Tensor:
    with brand(Sensors, len(readings)) as sensors:
        value = sensors.vec(readings) - sensors.vec(offsets)
        return sensors.unvec(value)  # bug: return value


def main() -> None:
    out = corrected(Tensor([[3.0, 4.0], [1.0, 1.0]]), Tensor([1.0, 0.5]))
    assert out.tolist() == [[2.0, 3.0], [0.5, 0.5]]


if __name__ == "__main__":
    main()
