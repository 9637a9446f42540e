//! Thin, safe wrappers of the kernel facilities that a measurement needs, one file each.
