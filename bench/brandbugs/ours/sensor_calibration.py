"""Readings of sensors, calibrated per sensor, averaged over the times.

Mistake: named brands mixed: the drift of the times is zipped with the sensors.
"""

from tinygrad import Tensor

from branded import Brand, Vec, brand


class Sensors(Brand):
    """One example is one sensor."""


class Times(Brand):
    """One example is one moment."""


def calibrated(reading: Vec[Sensors | Times, Tensor], gain: Vec[Sensors, Tensor]) -> Vec[Sensors | Times, Tensor]:
    return reading * gain


def averages(readings: Tensor, gains: Tensor, drift: Tensor) -> Tensor:
    with brand(Sensors, 2) as sensors, brand(Times, 2) as times:
        value = times.vec(sensors.vec(readings)) - times.vec(drift)
        gain = sensors.vec(gains)  # bug: gain = times.vec(gains)
        return sensors.unvec(times.unvec(calibrated(value, gain)).mean())


def main() -> None:
    got = averages(Tensor([[1.0, 3.0], [2.0, 6.0]]), Tensor([10.0, 1.0]), Tensor([0.0, 2.0]))
    assert got.tolist() == [10.0, 3.0]


if __name__ == "__main__":
    main()
