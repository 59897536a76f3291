"""``python -m gevglm``."""

import sys

from gevglm.cli import main

if __name__ == "__main__":
    sys.exit(main())
