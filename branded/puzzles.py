"""The puzzles under the name that notebooks import: `from branded.puzzles import check`."""

from branded.learn.puzzles import CHAPTERS as CHAPTERS
from branded.learn.puzzles import PUZZLES as PUZZLES
from branded.learn.puzzles import Chapter as Chapter
from branded.learn.puzzles import Predict as Predict
from branded.learn.puzzles import Puzzle as Puzzle
from branded.learn.puzzles import Status as Status
from branded.learn.puzzles import Verdict as Verdict
from branded.learn.puzzles import Write as Write
from branded.learn.puzzles import check as check
from branded.learn.puzzles import find as find
