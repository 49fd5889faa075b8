//! Integer plans: NumPy's summation order and exact boxes
