"""What the tests share: how results are compared, arrays of every layout, random programs."""
