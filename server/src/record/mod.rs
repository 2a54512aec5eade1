//! What a render did: its record, its log, its live view.
