//! `Clone` that reuses memory.

/// Implements `Clone` for a struct with exactly these fields, with a `clone_from` that works field by field: it reuses
/// each field's allocation where possible, and builds no temporary of the whole struct.
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
