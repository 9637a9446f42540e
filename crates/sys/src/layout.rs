//! Checks that structures which the kernel reads or writes have the same layout as in its headers. The compiler checks this, for every
//! architecture.

/// Refuses to compile if the size, the alignment or the offset of a field differs; callers must name every field of the structure.
macro_rules! layout {
    ($name:ident: $size:expr, align $align:expr, { $($field:ident: $at:expr),+ $(,)? }) => {
        const _: () = {
            assert!(size_of::<$name>() == $size, "another size than the kernel's");
            assert!(align_of::<$name>() == $align, "another alignment than the kernel's");
            $(assert!(core::mem::offset_of!($name, $field) == $at, "a field lies elsewhere than the kernel's");)+
            // If the caller omitted a field, this would not compile.
            let _: fn($name) = |whole| { let $name { $($field: _),+ } = whole; };
        };
    };
}

pub(crate) use layout;
