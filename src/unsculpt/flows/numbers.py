"""The numbers of a spline flow that all who evaluate it have to know; without JAX."""

import numpy as np

BINS = 8
PLACES = 4  # numbers that move the logit: a shift, a width, and another for each of its ends
END = 4.0  # of the moved logit, where an end starts, smoothly: 2% of the events at each
BLOCKS = 2  # of a residual network
# FlowJAX's splines: least width and height of a bin, least slope at a knot, and what the network
# adds to, so that an untrained spline is the identity.
LEAST = 1e-3
IDENTITY_SLOPE = np.log(np.expm1(1 - LEAST))
