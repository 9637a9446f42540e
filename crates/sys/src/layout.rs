//! Structures that the kernel reads or writes lie in memory as its headers have them: looked at while this is compiled, for
//! every architecture.

/// Refuses to compile where size, alignment or the place of a field is another one; names every field of the structure.
macro_rules! layout {
    ($name:ident: $size:expr, align $align:expr, { $($field:ident: $at:expr),+ $(,)? }) => {
        const _: () = {
            assert!(size_of::<$name>() == $size, "another size than the kernel's");
            assert!(align_of::<$name>() == $align, "another alignment than the kernel's");
            $(assert!(core::mem::offset_of!($name, $field) == $at, "a field lies elsewhere than the kernel's");)+
            // A field that nobody named here would not compile.
            let _: fn($name) = |whole| { let $name { $($field: _),+ } = whole; };
        };
    };
}

pub(crate) use layout;
