"""How far every student is from every teacher, on the logits of one question.

Mistake: named brands mixed: the student is given as the teacher, and the divergence is not symmetric.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Teachers(Brand):
    """One example is one teacher network."""


class Students(Brand):
    """One example is one student network."""


def divergence(teacher: Vec[Teachers, Tensor], student: Vec[Students, Tensor]) -> Vec[Teachers | Students, Tensor]:
    p, log_p = teacher.softmax(), teacher.log_softmax()
    return (p * (log_p - student.log_softmax())).sum()


def table(teachers: Tensor, students: Tensor) -> Tensor:
    def of_teacher(t: Vec[Teachers, Tensor]) -> Vec[Teachers, Tensor]:
        def of_student(s: Vec[Students, Tensor]) -> Vec[Teachers | Students, Tensor]:
            return divergence(t, s)  # bug: return divergence(s, t)

        return vmap(of_student, axis_name=Students)(students)

    return vmap(of_teacher, axis_name=Teachers)(teachers)


def main() -> None:
    logits = Tensor([[0.0, 0.0], [9.0, 0.0]])
    assert np.allclose(table(logits, logits).numpy(), [[0.0, 3.807], [0.692, 0.0]], atol=1e-2)


if __name__ == "__main__":
    main()
