//! Changes of JSON objects: JSON patch, merge patch, server-side apply.
