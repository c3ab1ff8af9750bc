import math
import os.path as path
from collections import Counter, defaultdict
from math import pi, sqrt

import numpy as np
from numpy import mean, sin
from sklearn.linear_model import LinearRegression

data = [1, 2, 3]
model = LinearRegression()


def double(n):
    return 2 * n


class Row:
    pass
