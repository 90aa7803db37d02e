"""Malformed calls that sample random numbers from keys."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from tinygrad import Tensor, dtypes

from branded import errors, random, vmap
from tests.malformed import refused, right
from tests.malformed.values import (
    HUGE,
    KEY,
    KEYS,
    NASTY,
    NP,
    NUMBER,
    N,
    V,
    W,
    X,
    cyclic_list,
    escaped,
)


def escaped_key():
    out = []
    vmap(lambda k: out.append(k) or k)(KEYS)
    return out[0]


ROWS = (
    refused("key: a string", lambda: random.key("seed"), errors.DrawTypeError, "key: the str 'seed' is not a seed"),
    refused("key: a float", lambda: random.key(1.5), errors.DrawTypeError, "key: the float 1.5 is not a seed"),
    refused("key: a bool", lambda: random.key(True), errors.DrawTypeError, "key: the bool True is not a seed"),
    refused("key: None", lambda: random.key(None), errors.DrawTypeError, "key: None is not a seed"),
    refused(
        "key: 10^30",
        lambda: random.key(HUGE),
        errors.DrawError,
        "key: 1000000000000000000000000000000 has more than 64 bits",
    ),
    refused("key: many seeds", lambda: random.key(N), errors.DrawTypeError, "key: i32[3] is not one seed"),
    refused(
        "key: a tensor of floats", lambda: random.key(NUMBER), errors.DrawTypeError, "key: float[] is not one seed"
    ),
    right("key: an array of one int", lambda: random.key(np.array(7)).tolist(), [0, 7]),
    right("key: a numpy int", lambda: random.key(np.int64(7)).tolist(), [0, 7]),
    refused(
        "split: no key",
        lambda: random.split(3),
        errors.DrawTypeError,
        "split: the first argument must be a key, a tensor u32[2]",
    ),
    refused(
        "split: a string",
        lambda: random.split(NASTY),
        errors.DrawTypeError,
        "split: the first argument must be a key, a tensor u32[2]",
    ),
    refused(
        "split: many keys",
        lambda: random.split(KEYS),
        errors.DrawTypeError,
        "split: the first argument must be a key, a tensor u32[2]",
    ),
    right(
        "split: an array of a key",
        lambda: random.split(np.array([0, 7], dtype=np.uint32), 1).tolist() == random.split(random.key(7), 1).tolist(),
        True,
    ),
    refused(
        "split: a tensor of floats",
        lambda: random.split(W),
        errors.DrawTypeError,
        "split: the first argument must be a key, a tensor u32[2]",
    ),
    refused(
        "split: by a float", lambda: random.split(KEY, 2.0), errors.DrawTypeError, "split: the float 2.0 is not a shape"
    ),
    refused(
        "split: by a string", lambda: random.split(KEY, "2"), errors.DrawTypeError, "split: the str '2' is not a shape"
    ),
    refused(
        "split: by a bool", lambda: random.split(KEY, True), errors.DrawTypeError, "split: the bool True is not a shape"
    ),
    refused(
        "split: by a tensor", lambda: random.split(KEY, Tensor(3)), errors.DrawTypeError, "split: int[] is not a shape"
    ),
    refused(
        "split: by a tensor of many", lambda: random.split(KEY, N), errors.DrawTypeError, "split: i32[3] is not a shape"
    ),
    right("split: by an array", lambda: random.split(KEY, np.array([2, 3])).shape, (2, 3, 2)),
    refused("split: below 0", lambda: random.split(KEY, -1), errors.DrawError, "split: -1 in a shape is not a size"),
    refused(
        "split: by 10^21",
        lambda: random.split(KEY, 10**21),
        errors.DrawError,
        "split: 1000000000000000000000 are more than a tensor can have",
    ),
    refused(
        "split: by 10^30",
        lambda: random.split(KEY, HUGE),
        errors.DrawError,
        "split: 1000000000000000000000000000000 are more than a tensor can have",
    ),
    refused(
        "split: by a shape of 10^21",
        lambda: random.split(KEY, (10**11, 10**10)),
        errors.DrawError,
        "split: 1000000000000000000000 are more than a tensor can have",
    ),
    refused("split: by None", lambda: random.split(KEY, None), errors.DrawTypeError, "split: None is not a shape"),
    right("split: by 0", lambda: random.split(KEY, 0).shape, (0, 2)),
    refused(
        "split: by a shape that contains itself",
        lambda: random.split(KEY, cyclic_list()),
        errors.DrawTypeError,
        "split: f32[3] in a shape is not an int",
    ),
    refused(
        "split: a key of a closed brand",
        lambda: random.split(escaped_key()),
        errors.EscapeError,
        "split: this value belongs to `k`, which is closed",
    ),
    refused(
        "fold_in: no key",
        lambda: random.fold_in(3, 1),
        errors.DrawTypeError,
        "fold_in: the first argument must be a key, a tensor u32[2]",
    ),
    refused(
        "fold_in: a float",
        lambda: random.fold_in(KEY, 1.5),
        errors.DrawTypeError,
        "fold_in: the float 1.5 is not an int",
    ),
    refused(
        "fold_in: a string",
        lambda: random.fold_in(KEY, NASTY),
        errors.DrawTypeError,
        "fold_in: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not an int",
    ),
    refused("fold_in: below 0", lambda: random.fold_in(KEY, -1), errors.DrawError, "fold_in: -1 is out of range"),
    refused(
        "fold_in: 2^32", lambda: random.fold_in(KEY, 2**32), errors.DrawError, "fold_in: 4294967296 is out of range"
    ),
    refused(
        "fold_in: 10^30",
        lambda: random.fold_in(KEY, HUGE),
        errors.DrawError,
        "fold_in: 1000000000000000000000000000000 is out of range",
    ),
    refused(
        "fold_in: many ints", lambda: random.fold_in(KEY, N), errors.DrawTypeError, "fold_in: i32[3] is not one int"
    ),
    refused(
        "fold_in: a tensor of floats",
        lambda: random.fold_in(KEY, NUMBER),
        errors.DrawTypeError,
        "fold_in: float[] is not one int",
    ),
    refused(
        "bits: no key",
        lambda: random.bits("key"),
        errors.DrawTypeError,
        "bits: the first argument must be a key, a tensor u32[2]",
    ),
    refused(
        "bits: a shape that is a number",
        lambda: random.bits(KEY, 3),
        errors.DrawTypeError,
        "bits: the int 3 is not a shape",
    ),
    refused(
        "bits: a shape of floats",
        lambda: random.bits(KEY, (2.0,)),
        errors.DrawTypeError,
        "bits: the float 2.0 in a shape is not an int",
    ),
    refused(
        "bits: a negative size", lambda: random.bits(KEY, (-2,)), errors.DrawError, "bits: -2 in a shape is not a size"
    ),
    refused(
        "bits: a size of 10^30",
        lambda: random.bits(KEY, (HUGE,)),
        errors.DrawError,
        "bits: 1000000000000000000000000000000 are more than a tensor can have",
    ),
    refused(
        "bits: a dtype of floats",
        lambda: random.bits(KEY, (2,), "float32"),
        errors.DrawTypeError,
        "bits: float32 is not a dtype that it samples",
    ),
    refused(
        "bits: a dtype that is none",
        lambda: random.bits(KEY, (2,), NASTY),
        errors.DrawTypeError,
        "bits: 'two\\nlines \\'single\\' \"double\" <b>b... is not a dtype that it samples",
    ),
    refused(
        "uniform: a shape that is a string",
        lambda: random.uniform(KEY, "23"),
        errors.DrawTypeError,
        "uniform: the str '23' is not a shape",
    ),
    refused(
        "uniform: a nested shape",
        lambda: random.uniform(KEY, ((2, 2), 2)),
        errors.DrawTypeError,
        "uniform: a tuple in a shape is not an int",
    ),
    refused(
        "uniform: a shape with a tensor",
        lambda: random.uniform(KEY, (Tensor(2),)),
        errors.DrawTypeError,
        "uniform: int[] in a shape is not an int",
    ),
    refused(
        "uniform: a shape with None",
        lambda: random.uniform(KEY, (None,)),
        errors.DrawTypeError,
        "uniform: None in a shape is not an int",
    ),
    refused(
        "uniform: a shape of 10^21",
        lambda: random.uniform(KEY, (10**21,)),
        errors.DrawError,
        "uniform: 1000000000000000000000 are more than a tensor can have",
    ),
    refused(
        "uniform: a shape of 2^40 by 2^40",
        lambda: random.uniform(KEY, (2**40, 2**40)),
        errors.DrawError,
        "uniform: 1208925819614629174706176 are more than a tensor can have",
    ),
    refused(
        "uniform: a dtype of ints",
        lambda: random.uniform(KEY, (2,), dtypes.int32),
        errors.DrawTypeError,
        "uniform: int32 is not a dtype that it samples",
    ),
    refused(
        "uniform: a numpy dtype",
        lambda: random.uniform(KEY, (2,), np.float32),
        errors.DrawTypeError,
        "uniform: the class float32 is not a dtype that it samples",
    ),
    refused(
        "uniform: None as the dtype",
        lambda: random.uniform(KEY, (2,), None),
        errors.DrawTypeError,
        "uniform: None is not a dtype that it samples",
    ),
    refused(
        "uniform: a list as the dtype",
        lambda: random.uniform(KEY, (2,), []),
        errors.DrawTypeError,
        "uniform: [] is not a dtype that it samples",
    ),
    refused(
        "uniform: bounds the wrong way round",
        lambda: random.uniform(KEY, (2,), minval=1, maxval=0),
        errors.DrawError,
        "uniform: minval 1.0 is not below maxval 0.0",
    ),
    refused(
        "uniform: a bound that is a string",
        lambda: random.uniform(KEY, (2,), minval="0"),
        errors.DrawTypeError,
        "uniform: minval is the str '0'",
    ),
    refused(
        "uniform: a bound that is None",
        lambda: random.uniform(KEY, (2,), maxval=None),
        errors.DrawTypeError,
        "uniform: maxval is None",
    ),
    refused(
        "uniform: a bound that is NaN",
        lambda: random.uniform(KEY, (2,), minval=float("nan")),
        errors.DrawError,
        "uniform: minval nan is not below maxval 1.0",
    ),
    refused(
        "uniform: a bound that is infinite",
        lambda: random.uniform(KEY, (2,), maxval=float("inf")),
        errors.DrawError,
        "uniform: there is no uniform distribution between 0.0 and inf",
    ),
    refused(
        "uniform: bounds of another shape",
        lambda: random.uniform(KEY, (2,), minval=V),
        errors.DrawError,
        "uniform: minval does not broadcast to the shape of the sample",
    ),
    right(
        "uniform: an array as a bound",
        lambda: random.uniform(KEY, (3,), minval=NP, maxval=NP).tolist() == NP.tolist(),
        True,
    ),
    refused(
        "uniform: a complex bound",
        lambda: random.uniform(KEY, (2,), maxval=1j),
        errors.DrawTypeError,
        "uniform: maxval is the complex 1j",
    ),
    refused(
        "uniform: a bound of 10^400",
        lambda: random.uniform(KEY, (2,), maxval=10**400),
        errors.DrawError,
        "uniform: there is no uniform distribution between 0.0 and inf",
    ),
    refused(
        "uniform: a bound of a closed brand",
        lambda: random.uniform(KEY, (2,), minval=escaped()),
        errors.EscapeError,
        "uniform: this value belongs to `x`, which is closed",
    ),
    refused(
        "bernoulli: above 1",
        lambda: random.bernoulli(KEY, 1.5),
        errors.DrawError,
        "bernoulli: p = 1.5 is not a probability",
    ),
    refused(
        "bernoulli: below 0",
        lambda: random.bernoulli(KEY, -0.5),
        errors.DrawError,
        "bernoulli: p = -0.5 is not a probability",
    ),
    refused(
        "bernoulli: NaN",
        lambda: random.bernoulli(KEY, float("nan")),
        errors.DrawError,
        "bernoulli: p = nan is not a probability",
    ),
    refused(
        "bernoulli: a string",
        lambda: random.bernoulli(KEY, "half"),
        errors.DrawTypeError,
        "bernoulli: p is the str 'half'",
    ),
    refused(
        "bernoulli: a bool", lambda: random.bernoulli(KEY, True), errors.DrawTypeError, "bernoulli: p is the bool True"
    ),
    refused(
        "bernoulli: a shape that does not fit",
        lambda: random.bernoulli(KEY, V / 4, (2,)),
        errors.DrawError,
        "bernoulli: p does not broadcast to the shape of the sample",
    ),
    refused(
        "randint: an empty range",
        lambda: random.randint(KEY, (2,), 3, 3),
        errors.DrawError,
        "randint: the range from 3 to 3, exclusive, is empty",
    ),
    refused(
        "randint: float bounds",
        lambda: random.randint(KEY, (2,), 0.0, 3.0),
        errors.DrawTypeError,
        "randint: minval is the float 0.0",
    ),
    refused(
        "randint: a string bound",
        lambda: random.randint(KEY, (2,), "0", 3),
        errors.DrawTypeError,
        "randint: minval is the str '0'",
    ),
    refused(
        "randint: a bound of 10^30",
        lambda: random.randint(KEY, (2,), 0, HUGE),
        errors.DrawError,
        "randint: maxval = 1000000000000000000000000000000 is out of range for int32",
    ),
    refused(
        "randint: None as the shape",
        lambda: random.randint(KEY, None, 0, 3),
        errors.DrawTypeError,
        "randint: None is not a shape",
    ),
    refused(
        "randint: a dtype of floats",
        lambda: random.randint(KEY, (2,), 0, 3, "float32"),
        errors.DrawTypeError,
        "randint: float32 is not a dtype that it samples",
    ),
    refused(
        "randint: tensor bounds of floats",
        lambda: random.randint(KEY, (2,), NUMBER, 3),
        errors.DrawTypeError,
        "randint: minval is float[]",
    ),
    refused(
        "normal: a shape that is a tensor",
        lambda: random.normal(KEY, N),
        errors.DrawTypeError,
        "normal: i32[3] is not a shape",
    ),
    right("normal: a shape that is an array", lambda: random.normal(KEY, np.array([2, 3])).shape, (2, 3)),
    refused(
        "normal: a dtype of strings",
        lambda: random.normal(KEY, (2,), "U3"),
        errors.DrawTypeError,
        "normal: 'U3' is not a dtype that it samples",
    ),
    refused(
        "normal: many keys",
        lambda: random.normal(KEYS, (2,)),
        errors.DrawTypeError,
        "normal: the first argument must be a key, a tensor u32[2]",
    ),
    refused(
        "truncated_normal: bounds the wrong way round",
        lambda: random.truncated_normal(KEY, 1.0, -1.0),
        errors.DrawError,
        "truncated_normal: lower 1.0 is not below upper -1.0",
    ),
    refused(
        "truncated_normal: a string bound",
        lambda: random.truncated_normal(KEY, "a", 1.0),
        errors.DrawTypeError,
        "truncated_normal: lower is the str 'a'",
    ),
    refused(
        "truncated_normal: bounds that do not broadcast",
        lambda: random.truncated_normal(KEY, V, W),
        errors.DrawError,
        "truncated_normal: the bounds do not broadcast",
    ),
    refused(
        "exponential: a negative size",
        lambda: random.exponential(KEY, (-1,)),
        errors.DrawError,
        "exponential: -1 in a shape is not a size",
    ),
    refused(
        "gumbel: a set as the shape",
        lambda: random.gumbel(KEY, {2}),
        errors.DrawTypeError,
        "gumbel: a set is not a shape",
    ),
    refused(
        "categorical: a list of logits",
        lambda: random.categorical(KEY, [0.1, 0.9]),
        errors.DrawTypeError,
        "categorical: logits are a list",
    ),
    refused(
        "categorical: logits of ints",
        lambda: random.categorical(KEY, N),
        errors.DrawTypeError,
        "categorical: logits are i32[3]",
    ),
    refused(
        "categorical: a number",
        lambda: random.categorical(KEY, NUMBER),
        errors.DrawTypeError,
        "categorical: logits are float[]",
    ),
    refused(
        "categorical: an axis out of range",
        lambda: random.categorical(KEY, V, axis=1),
        errors.AxisRangeError,
        "categorical: axis 1 is out of range for f32[3]",
    ),
    refused(
        "categorical: a string axis",
        lambda: random.categorical(KEY, V, axis="0"),
        errors.AxisTypeError,
        "categorical: the str '0' is not an axis",
    ),
    refused(
        "categorical: no categories",
        lambda: random.categorical(KEY, Tensor.zeros(0)),
        errors.DrawError,
        "categorical: logits has no categories",
    ),
    refused(
        "categorical: a shape that does not fit",
        lambda: random.categorical(KEY, X, shape=(2,)),
        errors.DrawError,
        "categorical: logits do not broadcast to the shape of the sample",
    ),
    refused(
        "permutation: a string",
        lambda: random.permutation(KEY, "abc"),
        errors.DrawTypeError,
        "permutation: x is the str 'abc', neither an int nor a tensor with an axis",
    ),
    refused(
        "permutation: a negative number",
        lambda: random.permutation(KEY, -1),
        errors.DrawError,
        "permutation: x = -1 is not a number of entries",
    ),
    refused(
        "permutation: a float",
        lambda: random.permutation(KEY, 3.0),
        errors.DrawTypeError,
        "permutation: x is the float 3.0, neither an int nor a tensor with an axis",
    ),
    refused(
        "permutation: a number",
        lambda: random.permutation(KEY, NUMBER),
        errors.DrawTypeError,
        "permutation: x is float[], neither an int nor a tensor with an axis",
    ),
    refused(
        "permutation: 10^30",
        lambda: random.permutation(KEY, HUGE),
        errors.DrawError,
        "permutation: x = 1000000000000000000000000000000 are more than an int32 can count",
    ),
    right(
        "permutation: an array",
        lambda: sorted(random.permutation(KEY, NP).tolist()) == sorted(NP.tolist()),
        True,
    ),
    refused(
        "permutation: a list",
        lambda: random.permutation(KEY, [1, 2, 3]),
        errors.DrawTypeError,
        "permutation: x is a list, neither an int nor a tensor with an axis",
    ),
    refused(
        "choice: nothing to draw from",
        lambda: random.choice(KEY, 0),
        errors.DrawError,
        "choice: a has no entries",
    ),
    refused(
        "choice: too many without replacement",
        lambda: random.choice(KEY, 3, (4,), replace=False),
        errors.DrawError,
        "choice: 4 of 3 entries cannot be sampled without replacement",
    ),
    refused(
        "choice: probabilities of another size",
        lambda: random.choice(KEY, 3, p=[0.5, 0.5]),
        errors.DrawError,
        "choice: p does not have one number for each of 3 entries",
    ),
    refused(
        "choice: negative probabilities",
        lambda: random.choice(KEY, 2, p=[-1.0, 2.0]),
        errors.DrawError,
        "choice: p is not a vector of probabilities",
    ),
    refused(
        "choice: probabilities that are all 0",
        lambda: random.choice(KEY, 2, p=[0.0, 0.0]),
        errors.DrawError,
        "choice: p is not a vector of probabilities",
    ),
    refused(
        "choice: a string of probabilities",
        lambda: random.choice(KEY, 2, p="ab"),
        errors.DrawTypeError,
        "choice: p is the str 'ab'",
    ),
    refused(
        "choice: a list to draw from",
        lambda: random.choice(KEY, ["a", "b"]),
        errors.DrawTypeError,
        "choice: a is a list, neither an int nor a tensor with an axis",
    ),
    right("choice: probabilities of a tensor of ints", lambda: random.choice(KEY, 3, p=N).shape, ()),
    refused(
        "choice: a nested list of probabilities",
        lambda: random.choice(KEY, 2, p=[[0.5], [0.5]]),
        errors.DrawError,
        "choice: p does not have one number for each of 2 entries",
    ),
    refused(
        "choice: a ragged list of probabilities",
        lambda: random.choice(KEY, 2, p=[[0.5], [0.5, 1]]),
        errors.DrawTypeError,
        "choice: p is a list",
    ),
    refused(
        "choice: 10^30",
        lambda: random.choice(KEY, HUGE),
        errors.DrawError,
        "choice: a = 1000000000000000000000000000000 are more than an int32 can count",
    ),
    refused(
        "gamma: no key",
        lambda: random.gamma(3, 1.0),
        errors.DrawTypeError,
        "gamma: the first argument must be a key, a tensor u32[2]",
    ),
    refused("gamma: of 0", lambda: random.gamma(KEY, 0.0), errors.DrawError, "gamma: a = 0 is not above 0"),
    refused(
        "gamma: of inf", lambda: random.gamma(KEY, float("inf")), errors.DrawError, "gamma: a = inf is not above 0"
    ),
    refused(
        "gamma: a string",
        lambda: random.gamma(KEY, NASTY),
        errors.DrawTypeError,
        "gamma: a is the str 'two\\nlines \\'single\\' \"double\" <b>b...",
    ),
    refused(
        "gamma: shape",
        lambda: random.gamma(KEY, V, (2,)),
        errors.DrawError,
        "gamma: a does not broadcast to the shape of the sample",
    ),
    refused(
        "gamma: dtype",
        lambda: random.gamma(KEY, 1.0, (), "int32"),
        errors.DrawTypeError,
        "gamma: int32 is not a dtype that it samples",
    ),
    right("gamma: of shape 0", lambda: random.gamma(KEY, 1.0, (0,)).shape, (0,)),
    refused("loggamma: below 0", lambda: random.loggamma(KEY, -1), errors.DrawError, "loggamma: a = -1 is not above 0"),
    refused("beta: of 0", lambda: random.beta(KEY, 1.0, 0), errors.DrawError, "beta: b = 0 is not above 0"),
    refused("beta: shapes", lambda: random.beta(KEY, V, W), errors.DrawError, "beta: the parameters do not broadcast"),
    refused(
        "beta: escaped",
        lambda: random.beta(KEY, escaped(), 1.0),
        errors.EscapeError,
        "beta: this value belongs to `x`, which is closed",
    ),
    refused(
        "dirichlet: a number", lambda: random.dirichlet(KEY, 2.0), errors.DrawTypeError, "dirichlet: alpha is float"
    ),
    refused(
        "dirichlet: shape",
        lambda: random.dirichlet(KEY, X, (2,)),
        errors.DrawError,
        "dirichlet: alpha does not broadcast to the shape of the sample",
    ),
    refused("t: below 0", lambda: random.t(KEY, -2.0), errors.DrawError, "t: df = -2 is not above 0"),
    refused("t: None", lambda: random.t(KEY, None), errors.DrawTypeError, "t: df is None"),
    refused(
        "laplace: shape", lambda: random.laplace(KEY, 3), errors.DrawTypeError, "laplace: the int 3 is not a shape"
    ),
    refused(
        "logistic: shape", lambda: random.logistic(KEY, 3), errors.DrawTypeError, "logistic: the int 3 is not a shape"
    ),
    refused("pareto: below 0", lambda: random.pareto(KEY, -2.0), errors.DrawError, "pareto: b = -2 is not above 0"),
    refused("chisquare: of 0", lambda: random.chisquare(KEY, 0), errors.DrawError, "chisquare: df = 0 is not above 0"),
    refused(
        "orthogonal: rows",
        lambda: random.orthogonal(KEY, 2.5),
        errors.DrawTypeError,
        "orthogonal: the float 2.5 in a shape is not an int",
    ),
    refused("poisson: below 0", lambda: random.poisson(KEY, -1.0), errors.DrawError, "poisson: lam = -1 is not a mean"),
    refused(
        "poisson: nan", lambda: random.poisson(KEY, float("nan")), errors.DrawError, "poisson: lam = nan is not a mean"
    ),
    refused(
        "poisson: dtype",
        lambda: random.poisson(KEY, 1.0, (), "float"),
        errors.DrawTypeError,
        "poisson: float32 is not a dtype that it samples",
    ),
    refused(
        "poisson: shape",
        lambda: random.poisson(KEY, V, (2,)),
        errors.DrawError,
        "poisson: lam does not broadcast to the shape of the sample",
    ),
    right("poisson: of 0", lambda: random.poisson(KEY, 0, (2,)).tolist(), [0, 0]),
    refused(
        "multivariate_normal: a list",
        lambda: random.multivariate_normal(KEY, [0.0, 0.0], Tensor.eye(2)),
        errors.DrawTypeError,
        "multivariate_normal: mean is a list",
    ),
    refused(
        "multivariate_normal: sizes",
        lambda: random.multivariate_normal(KEY, V, Tensor.eye(2)),
        errors.DrawError,
        "multivariate_normal: mean and cov do not fit each other",
    ),
    refused(
        "multivariate_normal: method",
        lambda: random.multivariate_normal(KEY, W, Tensor.eye(2), method="lu"),
        errors.DrawError,
        "multivariate_normal: method is the str 'lu'",
    ),
    refused(
        "multivariate_normal: shape",
        lambda: random.multivariate_normal(KEY, X, Tensor.eye(2), (2,)),
        errors.DrawError,
        "multivariate_normal: mean does not broadcast to the shape of the sample",
    ),
)
