"""Many runs of one question: studies, comparisons of queue managers, differences packet by packet."""
