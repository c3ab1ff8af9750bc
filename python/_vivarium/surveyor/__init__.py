"""The process that measures sessions from outside, so that the zygote never has to wait for /proc or for a disk."""
