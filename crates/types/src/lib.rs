//! Data types, shapes, strides, promotion and error kinds
