"""`python -m branded`."""

import sys

from branded.cli import main

if __name__ == "__main__":
    sys.exit(main())
