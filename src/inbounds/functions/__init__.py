"""The release functions: each takes a table and keywords, and releases one statistic.

Functions of one column take a table and the name of the column, or the column itself: a list, an array or a Series.
With ``neighbours="substitute"`` (one record changes its value) the number of rows is public. With ``"add-remove"``
(one record is added or removed) it is protected, and a mean is a noisy sum divided by a noisy count.
"""

from inbounds.functions.cells import crosstab as crosstab
from inbounds.functions.cells import histogram as histogram
from inbounds.functions.cells import proportions as proportions
from inbounds.functions.matrices import correlation as correlation
from inbounds.functions.matrices import covariance as covariance
from inbounds.functions.matrices import kendall as kendall
from inbounds.functions.matrices import moments as moments
from inbounds.functions.matrices import regression as regression
from inbounds.functions.numbers import count as count
from inbounds.functions.numbers import mean as mean
from inbounds.functions.numbers import proportion as proportion
from inbounds.functions.numbers import standard_deviation as standard_deviation
from inbounds.functions.numbers import sum as sum  # noqa: A004
from inbounds.functions.numbers import variance as variance
from inbounds.functions.pooled import pooled_covariance as pooled_covariance
from inbounds.functions.pooled import pooled_variance as pooled_variance
from inbounds.functions.quantiles import bounds as bounds
from inbounds.functions.quantiles import median as median
from inbounds.functions.quantiles import quantile as quantile
