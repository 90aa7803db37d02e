"""Puzzles: brands in types."""

from __future__ import annotations

from branded.learn.puzzles.puzzle import Predict
from branded.learn.puzzles.truth import rejected_by_mypy, rejected_line, revealed_by_mypy

TITLE = "Brands in types"

PUZZLES = (
    Predict(
        title="The brands of a sum",
        text="Predict the output of this program. The order of the brands does not matter.",
        program="""
            def added(x, y):
                print(vec_type(x + y))
                return x + y


            sums = vmap(lambda x: vmap(lambda y: added(x, y))(Tensor.ones(2)))(Tensor.ones(3, 4))
        """,
        hints=(
            "`x` varies over one brand, `y` over another; a sum varies over all that its operands vary over.",
            "For one example, `x` is an `f32[4]` and `y` a single number, `f32[]`.",
        ),
        because="The sum has both brands. The types of one example are broadcast: `f32[4]` and `f32[]` give `f32[4]`.",
        wrong={
            "Vec[x:3, f32[4]]": "`y` varies too, so the sum has its brand as well.",
            "Vec[x:3 | y:2, f32[3, 4]]": "The 3 is the size of the brand `x`; one example of `x` is a vector of 4.",
            "Vec[x:3 | y:2, f32[]]": "One example of `x` is a vector of 4 numbers.",
        },
    ),
    Predict(
        title="Open, but not used",
        text="Three brands are open. Predict the output of this program.",
        program="""
            def first_and_last(a, b, c):
                print(vec_type(a * c))
                return a * c + b


            twos, threes, fours = Tensor.ones(2), Tensor.ones(3), Tensor.ones(4)
            cube = vmap(lambda a: vmap(lambda b: vmap(lambda c: first_and_last(a, b, c))(fours))(threes))(twos)
        """,
        hints=("A value has the brands of the values that it is computed from.",),
        because="`b` is open, but `a * c` does not depend on it, so it is computed 8 times and not 24 times.",
        wrong={
            "Vec[a:2 | b:3 | c:4, f32[]]": "`b` is open there, but does `a * c` depend on it?",
            "Vec[a:2, f32[]]": "`c` varies over a brand of its own.",
        },
    ),
    Predict(
        title="The type in mypy",
        text=(
            "mypy does not know sizes, so it says `Vec[a | b, Tensor]`: brands, and the type of one example. What is "
            "the type that `reveal_type` shows for `a * weight`? The answer comes from mypy, which has to be installed "
            "for it."
        ),
        program="""
            weight = Tensor([1.0, 2.0])
            weighted = vmap(lambda a: vmap(lambda b: reveal_type(a * weight) + b)(weight))(weight)
        """,
        truth=revealed_by_mypy,
        hints=("`weight` is a plain tensor: it has no brands.", "`b` is added later."),
        because="A plain `Tensor` adds no brand. `Vec[a, Tensor]` has the brand of `a`, and nothing else.",
        wrong={
            "Vec[a | b, Tensor]": "`b` is not in `a * weight` yet.",
            "Tensor": "`a` is a value of one example: it varies over the brand of the outer vmap.",
        },
    ),
    Predict(
        title="A result is plain",
        text="Which type does mypy infer for `plain`?",
        program="""
            plain = vmap(lambda a, b: a * b)(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
            reveal_type(plain)
        """,
        truth=revealed_by_mypy,
        hints=("The vmap removes the brand that it opened.",),
        because="The result has no brands, and a value without brands is a `Tensor`.",
        wrong={"Vec[a, Tensor]": "That is the type inside of the function. The vmap removes its brand again."},
    ),
    Predict(
        title="Which line does mypy reject?",
        text="One line has a type that is wrong. Answer with its letter.",
        program="""
            def scaled(x: Vec[S], factor: Vec[S1]) -> Vec[S | S1]:
                return x * factor  # A


            def centered(x: Vec[S], center: Vec[S1]) -> Vec[S]:
                return x - center  # B


            def doubled(x: Vec[S]) -> Vec[S | S1]:
                return x * 2  # C
        """,
        truth=rejected_by_mypy,
        hints=(
            "Write down the brands of each result.",
            "You can pass a value with fewer brands where more are expected.",
        ),
        because=(
            "The difference varies over `S` and `S1`, and the declared result over `S` alone. In line C the result "
            "varies over less than is declared, which is allowed: subtyping is broadcasting."
        ),
        wrong={
            "A": "`S | S1` are the brands of the product.",
            "C": "`Vec[S]` is a `Vec[S | S1]`: it can be broadcast.",
        },
    ),
    Predict(
        title="A function for tensors only",
        text="Which line does mypy reject? Answer with its letter.",
        program="""
            def length(x: Tensor) -> Tensor:
                return (x * x).sum().sqrt()


            def norm(x: Vec[S]) -> Vec[S]:
                return (x * x).sum().sqrt()


            points = Tensor([[3.0, 4.0], [0.0, 2.0]])
            first = length(points)  # A
            second = norm(points)  # B
            third = vmap(norm)(points)  # C
            fourth = vmap(length)(points)  # D
        """,
        truth=rejected_by_mypy,
        hints=("A plain `Tensor` is a `Vec` without brands.", "And the other way round?"),
        because=(
            "`length` promises nothing about values that vary: it might read its argument. `norm` says in its type "
            "that it works for values of any brands, or of none."
        ),
        wrong={
            "B": "A plain tensor is a `Vec` without brands, so `norm` takes it.",
            "C": "`norm` takes values of any brands, so it can be mapped.",
        },
    ),
    Predict(
        title="Find the brand that escapes",
        text=("A value is kept while its brand is open, and used later. Which line raises an error? Give its letter."),
        program="""
            kept = []


            def keep(x):
                kept.append(x * 2)  # A
                return x + 1


            more = vmap(keep)(Tensor([1.0, 2.0, 3.0]))  # B
            total = more.sum()  # C
            late = vmap(lambda y: y + kept[0])(Tensor([1.0, 2.0, 3.0]))  # D
        """,
        truth=rejected_line,
        hints=("Line A stores a value that varies over `x`. Is that wrong already?", "When is the brand closed?"),
        because=(
            "When `keep` has returned, `x` is closed, and `kept[0]` is a value for each example of nothing. The other "
            "vmap has the same size, but another brand. It is not zipped by accident, as it would be in a vmap that "
            "only knows sizes."
        ),
        wrong={
            "A": "The brand is open there, so the value means something. Keeping it is allowed.",
            "B": "What `keep` returns varies over its own brand, which the vmap removes.",
            "C": "`more` is a plain tensor.",
        },
    ),
    Predict(
        title="No single value",
        text="One of these lines raises an error when the program runs. Answer with its letter.",
        program="""
            def clipped(x):
                print(x.shape)  # A
                low = x.maximum(0.0)  # B
                if low.sum() > 1:  # C
                    low = low / 2
                return (low > 0).where(low, 1.0)  # D


            result = vmap(clipped)(Tensor([[1.0, -2.0], [0.5, 3.0]]))
        """,
        truth=rejected_line,
        hints=("Python's `if` works on a value that all examples share.",),
        because=(
            "The shape is the same for all examples. The sum is not: for one of them the condition may hold, and for "
            "another not. `where` or `cond` chooses for each example."
        ),
        wrong={
            "A": "A shape is the same for all examples.",
            "B": "A mapped function consists of operations on the values of all examples.",
            "D": "`where` chooses for each example, and replaces the `if`.",
        },
    ),
)
