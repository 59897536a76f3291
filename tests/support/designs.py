"""Design matrices of new data."""

from gevglm.data.new_rows import read_table


def design_of(model, data, offset=None, exposure=None):
    """Return design matrix, offset and row labels of new data, by the formula and column names of a model."""
    rows = read_table(model.design.layout, data, offset, exposure)
    return rows.X, rows.offset, rows.index
