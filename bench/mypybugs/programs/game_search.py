"""A game tree search: boards as tensors, moves by nested vmaps, minimax by recursion over the depth."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple

from branded import fori_loop, vmap
from tinygrad import Tensor

CELLS, MOVES, GAMES = 5, 5, 3


class Player(enum.IntEnum):
    MAX = 1
    MIN = -1

    @property
    def other(self) -> Player:
        return Player.MIN if self is Player.MAX else Player.MAX


class Board(NamedTuple):
    cells: Tensor
    turn: Tensor

    def legal(self) -> Tensor:
        return self.cells == 0

    def play(self, move: Tensor, player: Player) -> Board:
        spot = Tensor.arange(CELLS) == move
        return Board(spot.where(float(player), self.cells), self.turn + 1)  # axis: return Board(spot.unsqueeze(1).where(float(player), self.cells), self.turn + 1)


VALUES = Tensor([3.0, 1.0, 4.0, 1.0, 5.0])
MOVE_LIST = Tensor.arange(MOVES)


def evaluate(board: Board) -> Tensor:
    return (board.cells * VALUES).sum() / board.turn  # read: return (board.cells * VALUES).sum() / int(board.turn)


def minimax(board: Board, player: Player, depth: int) -> Tensor:
    if depth == 0:  # if: if depth == 0 or board.legal().sum() == 0:
        return evaluate(board)

    def value(move: Tensor) -> Tensor:
        after = minimax(board.play(move, player), player.other, depth - 1)
        return (board.cells[move] == 0).where(after, -100.0 * player)  # if: return after if board.cells[move] == 0 else Tensor(-100.0 * player)

    values = vmap(value)(MOVE_LIST)
    return values.max() if player is Player.MAX else values.min()


def best_move(board: Board, search: Callable[[Board, Player, int], Tensor], depth: int = 1) -> Tensor:
    values = vmap(lambda m: search(board.play(m, Player.MAX), Player.MIN, depth))(MOVE_LIST)
    return board.legal().where(values, -100.0).argmax()  # read: return Tensor(board.legal().where(values, -100.0).argmax().item())


def rollout(board: Board, weights: Tensor) -> Tensor:
    def body(i: Tensor, b: Board) -> Board:
        prefer = (b.legal().where(weights, -1.0) - 0.1 * i).argmax()
        return b.play(prefer, Player.MAX)

    return evaluate(fori_loop(0, 2, body, board))


history: list[Tensor] = []
start = Tensor([[0, 0, 1, 0, -1], [0, 0, 0, 0, 0], [1, -1, 0, 0, 0]]).float()
boards = Board(start, Tensor.ones(GAMES))  # axis: boards = Board(start.T, Tensor.ones(GAMES))
scores = vmap(lambda b: minimax(b, Player.MAX, 2))(boards)
moves = vmap(best_move, in_axes=(0, None))(boards, minimax)  # none: moves = vmap(best_move)(boards, minimax)
played = vmap(lambda b, m: b.play(m, Player.MAX))(boards, moves)
gains = vmap(lambda a, b: evaluate(b) - evaluate(a))(boards, played)
policies = Tensor.arange(2 * CELLS).reshape(2, CELLS).float()
league = vmap(lambda w: vmap(lambda b: rollout(b, w))(boards))(policies)  # zip: league = vmap(lambda w, b: rollout(b, w))(policies, boards)
same = vmap(rollout, in_axes=(0, None))(boards, policies[0])  # none: same = vmap(rollout)(boards, policies[0])
turned = vmap(rollout, in_axes=(Board(0, 0), None))(boards, policies[1])  # axis: turned = vmap(rollout, in_axes=(Board(0, 1), None))(boards, policies[1])
winner = vmap(lambda column: column.argmax(), in_axes=1)(league)  # axis: winner = vmap(lambda column: column.argmax(axis=1), in_axes=1)(league)
margin = vmap(lambda column, s: column - s, in_axes=(1, 0), out_axes=1)(league, same)  # axis: margin = vmap(lambda column, s: column - s, out_axes=1)(league, same)
wide = margin + league  # out: wide = vmap(lambda column, s: column - s, in_axes=(1, 0))(league, same) + league
sure = vmap(lambda s, g: (s > g).where(s, g))(scores, gains)  # if: sure = vmap(lambda s, g: max(s, g))(scores, gains)
result = scores, moves, gains, league, same, turned, winner, margin, wide, sure
