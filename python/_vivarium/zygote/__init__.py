"""The warm template process: it forks workers and watches what they use."""
