//! Copies into memory that is there.

/// Implements `Clone` for a struct of these fields, all that it has, with a `clone_from` that does the same field by field: a
/// field's memory is kept where it can be, and nothing as large as the struct is made first and moved.
macro_rules! cloned_in_place {
    ($type:ident { $( $field:ident ),* $(,)? }) => {
        impl Clone for $type {
            fn clone(&self) -> Self {
                let Self { $( $field ),* } = self;
                Self { $( $field: $field.clone() ),* }
            }

            #[inline]
            fn clone_from(&mut self, other: &Self) {
                let Self { $( $field ),* } = other;
                $( self.$field.clone_from($field); )*
            }
        }
    };
}
