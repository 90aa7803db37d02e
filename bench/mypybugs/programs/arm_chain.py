"""A robot arm: poses with method chaining and Self, inverse kinematics by gradients, a fleet of arms."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Self

from branded import Axes, Brand, as_axes, grad, jacfwd, vmap, while_loop
from tinygrad import Tensor


class Arms(Brand): ...


class Joints(Brand): ...


class Goals(Brand): ...


ARMS, JOINTS = 3, 2


class Pose:
    """A pose in the plane, changed step by step."""

    def __init__(self, position: Tensor, angle: Tensor) -> None:
        self.position, self.angle = position, angle

    @classmethod
    def origin(cls) -> Self:
        return cls(Tensor.zeros(2), Tensor(0.0))  # axis: return cls(Tensor.zeros(3), Tensor(0.0))

    def turn(self, angle: Tensor) -> Self:
        return type(self)(self.position, self.angle + angle)

    def move(self, length: Tensor) -> Self:
        step = Tensor.stack(self.angle.cos(), self.angle.sin()) * length
        return type(self)(self.position + step, self.angle)

    def limited(self, far: float) -> Self:
        size = self.position.square().sum().sqrt()
        scale = (size > far).where(far / size, 1.0)  # if: scale = far / size if size > far else 1.0
        return type(self)(self.position * scale, self.angle)

    def distance(self, goal: Tensor) -> Tensor:
        return (self.position - goal).square().sum()  # read: return Tensor(float((self.position - goal).square().sum()))


class Arm:
    def __init__(self, lengths: Tensor) -> None:
        self.lengths = lengths
        self.log: list[Pose] = []

    def links(self, angles: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
        for i in range(JOINTS):
            yield angles[i], self.lengths[i]  # axis: yield angles[i], self.lengths[:, i]

    def forward(self, angles: Tensor) -> Pose:
        pose = reduce(lambda p, link: p.turn(link[0]).move(link[1]), self.links(angles), Pose.origin())
        return pose.limited(1.8)

    def error(self, angles: Tensor, goal: Tensor) -> Tensor:
        return self.forward(angles).distance(goal)

    def solve(self, start: Tensor, goal: Tensor, rate: float = 0.1) -> Tensor:
        def far(s: tuple[Tensor, Tensor]) -> Tensor:
            return (s[1] < 5) & (self.error(s[0], goal) > 0.01)  # if: return s[1] < 5 and self.error(s[0], goal) > 0.01

        def step(s: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            return s[0] - rate * grad(self.error)(s[0], goal), s[1] + 1  # key: return s[0] - rate * grad(self.error)(s[0], goal)

        return while_loop(far, step, (start, Tensor(0)))[0]


lengths = Tensor([1.0, 0.8])
arm = Arm(lengths)
angles = as_axes(Tensor([[0.1, 0.2], [0.5, 0.5], [1.0, 0.3]]), Arms, Joints)  # axis: angles = as_axes(Tensor([[0.1, 0.5, 1.0], [0.2, 0.5, 0.3]]), Arms, Joints)
goals = as_axes(Tensor([[1.0, 1.0], [0.0, 1.5], [0.5, 0.2]]), Arms, Goals)
tips = vmap(lambda a: arm.forward(a).position)(angles)
solved = vmap(arm.solve)(angles, goals)
errors: Axes[Arms] = vmap(arm.error)(solved, goals)  # axis: errors: Axes[Arms] = vmap(arm.error, in_axes=(1, 1))(solved, goals)
shared = vmap(arm.error, in_axes=(0, None))(angles, goals[0])  # none: shared = vmap(arm.error)(angles, goals[0])
table: Axes[Arms, Arms] = vmap(lambda a: vmap(lambda g: arm.error(a, g))(goals))(angles)  # zip: table: Axes[Arms, Arms] = vmap(lambda a, g: arm.error(a, g))(angles, goals)
jacobians = vmap(jacfwd(lambda a: arm.forward(a).position))(angles)
speeds = vmap(lambda j, a: j @ a)(jacobians, angles)  # axis: speeds = vmap(lambda j, a: j @ a, in_axes=(0, 1))(jacobians, angles)
fleet = Tensor.stack(lengths, 2 * lengths)
reach = vmap(lambda l: vmap(lambda a: Arm(l).forward(a).position.sum())(angles), axis_name="fleet")(fleet)  # zip: reach = vmap(lambda l, a: Arm(l).forward(a).position.sum(), axis_name="fleet")(fleet, angles)
per_joint: Axes[Joints] = vmap(lambda column: column.max() - column.min(), in_axes=1)(angles)  # axis: per_joint: Axes[Joints] = vmap(lambda column: column.max() - column.min())(angles)
turned: Axes[Joints, Arms] = vmap(lambda a: a / per_joint, out_axes=1)(angles)  # out: turned: Axes[Joints, Arms] = vmap(lambda a: a / per_joint)(angles)
relative = vmap(lambda t, j: t / j, in_axes=(0, 0), axis_name=Joints)(turned, per_joint)
energy = reduce(operator.add, [relative[i] for i in range(JOINTS)])
close = vmap(lambda e, s: (e < s).where(e, s))(errors, shared)  # if: close = vmap(lambda e, s: e if e < s else s)(errors, shared)
order = vmap(lambda row: row.argmin())(table)
nearest = vmap(lambda i: goals[i])(order)  # read: nearest = vmap(lambda i: goals[int(i.item())])(order)
result = tips, solved, errors, shared, table, speeds, reach, turned, relative, energy, close, nearest
