//! What operators see and do: health, metrics, logs, start and end of the process.
