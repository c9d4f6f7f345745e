"""The release functions: each takes a table and keywords, makes the statistic that they describe, and releases it.

Every function takes a table and the name of a column, or the column itself: a list, an array, a Series. Under
``neighbours="substitute"`` (one record takes another value) the number of rows is public; with ``"add-remove"`` (one
record comes or goes) it is protected, and means are made of a noisy sum and a noisy count.
"""

from inbounds.functions.cells import crosstab as crosstab
from inbounds.functions.cells import histogram as histogram
from inbounds.functions.cells import proportions as proportions
from inbounds.functions.matrices import correlation as correlation
from inbounds.functions.matrices import covariance as covariance
from inbounds.functions.matrices import kendall as kendall
from inbounds.functions.matrices import moments as moments
from inbounds.functions.matrices import pooled_covariance as pooled_covariance
from inbounds.functions.numbers import count as count
from inbounds.functions.numbers import mean as mean
from inbounds.functions.numbers import pooled_variance as pooled_variance
from inbounds.functions.numbers import proportion as proportion
from inbounds.functions.numbers import standard_deviation as standard_deviation
from inbounds.functions.numbers import sum as sum  # noqa: A004
from inbounds.functions.numbers import variance as variance
