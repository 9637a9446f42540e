//! The measuring loops and the memory they write to.
#![no_std]
#![forbid(unsafe_code)]
