//! gRPC: the function runner of Porch, and whole packages.
