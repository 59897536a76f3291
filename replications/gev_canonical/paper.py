"""Tables 3 and 4 as printed in the paper, which gives no standard errors.

A star marks a method that differs from the best of its row by the two-sided Wilcoxon test at 10 %, two stars at 5 %. The stars of the
column of weighted logistic regression cannot be assigned to rows in the text we have, so that column has none here.
"""

from __future__ import annotations

import pandas as pd

from replications.gev_canonical.methods import PAPER_METHODS

BRIER = """
nursery      .0084   .0084   .0088** .0124** .0090 .0172** .0084
letter-A     .0079** .0084** .0074   .0111** .0112 .0313** .0080**
car          .0266** .0262   .0267** .0320** .0271 .0296** .0259
glass        .0670   .0671   .0744** .0623   .0637 .0614   .0649
ecoli        .0646   .0644   .0689** .0756** .0635 .0641   .0641
letter-vowel .1392** .1392** .1400** .1416** .1414 .1405** .1367
cmc          .1617   .1617   .1621   .1642** .1615 .1626   .1622
vehicle      .1399   .1395   .1422   .1501** .1408 .1497** .1394
haberman     .1828*  .1812   .1907** .1823*  .1814 .1761   .1769
yeast        .1634** .1635** .1666** .1646** .1635 .1621   .1616
german       .1721   .1731   .1737   .1754** .1714 .1787** .1727
pima         .1617** .1623** .1652** .1662*  .1626 .1616   .1603
"""
CALIBRATION = """
nursery      .0007   .0006   .0006   .0016** .0009 .0010** .0008*
letter-A     .0005   .0006** .0005   .0009*  .0006 .0038** .0006*
car          .0052*  .0049*  .0053** .0062   .0068 .0033   .0037
glass        .0222   .0235   .0309** .0109   .0266 .0252** .0238
ecoli        .0230   .0245   .0264   .0260   .0266 .0229   .0202
letter-vowel .0059** .0061** .0047** .0090** .0088 .0042   .0038
cmc          .0056** .0054   .0063   .0057   .0046 .0047   .0057*
vehicle      .0112   .0116   .0111   .0195** .0127 .0097   .0083
haberman     .0295** .0245   .0331** .0291   .0309 .0216   .0236
yeast        .0083   .0078   .0090** .0087*  .0091 .0060   .0064
german       .0089** .0088   .0101** .0067   .0065 .0105   .0084
pima         .0090   .0106** .0112*  .0116   .0107 .0091   .0081
"""


def printed(text: str) -> pd.DataFrame:
    """Return a table of the paper as strings, one row a task and one column a method."""
    names, *columns = zip(*(line.split() for line in text.split("\n") if line), strict=True)
    return pd.DataFrame(dict(zip(PAPER_METHODS, columns, strict=True)), index=pd.Index(names, name="task"))


def numbers(text: str) -> pd.DataFrame:
    """Return a table of the paper as numbers."""
    return printed(text).apply(lambda column: column.str.rstrip("*").astype(float))


TABLES = {"brier": BRIER, "calibration": CALIBRATION}
