//! The configuration file of the server: read strictly, documented, reloaded.
