//! Portico as a library for C.
