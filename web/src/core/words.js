// Names of the numeric values in columns.

export const FATES = ["sent", "marked", "limit", "early", "late", "hard-limit", "unknown", "replaced"];
export const REASONS = ["limit", "early", "late", "hard-limit", "replaced"];
export const ECN = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
