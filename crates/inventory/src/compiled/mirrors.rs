//! JSON forms of model types that have the same fields.

/// Defines `WIRE <=> MODEL { field: Type, … }`: the JSON form of a model type, and `From` both ways.
macro_rules! mirrors {
    ($($wire:ident <=> $model:ident { $($field:ident: $type:ty),+ $(,)? })+) => {$(
        #[derive(PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $wire { $($field: $type),+ }

        impl From<$model> for $wire {
            fn from($model { $($field),+ }: $model) -> Self {
                Self { $($field: $field.into()),+ }
            }
        }

        impl From<$wire> for $model {
            fn from($wire { $($field),+ }: $wire) -> Self {
                Self { $($field: $field.into()),+ }
            }
        }
    )+};
}

pub(super) use mirrors;

/// Converts each item of a list.
pub fn each<A, B: From<A>>(list: impl IntoIterator<Item = A>) -> Vec<B> {
    list.into_iter().map(B::from).collect()
}
