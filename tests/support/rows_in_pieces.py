BLOCK = 8192  # rows of a block of few columns
ROWS = 3 * BLOCK + 1000
