//! What describes the API: OpenAPI, strict decoding.
