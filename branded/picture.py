"""Pictures under the name that the course tells: `from branded.picture import cells`."""

from branded.learn.picture import Picture as Picture
from branded.learn.picture import beside as beside
from branded.learn.picture import cells as cells
from branded.learn.picture import flow as flow
from branded.learn.picture import journey as journey
from branded.learn.picture import operation as operation
from branded.learn.picture import rows as rows
from branded.learn.picture import tree as tree
