//! A small network of dense layers in 32-bit floats, summed in a fixed order: bit-identical on every machine, and no
//! allocation after construction.

use alloc::vec::Vec;
use thiserror::Error;

/// Activation function of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Identity.
    Linear,
    /// Hyperbolic tangent.
    Tanh,
    /// Rectifier, max(x, 0).
    Relu,
    /// Logistic function.
    Sigmoid,
}

impl Activation {
    /// Every activation, with its name.
    pub const ALL: [(&'static str, Self); 4] =
        [("linear", Self::Linear), ("tanh", Self::Tanh), ("relu", Self::Relu), ("sigmoid", Self::Sigmoid)];

    pub(super) fn of(self, x: f32) -> f32 {
        match self {
            Self::Linear => x,
            Self::Tanh => libm::tanhf(x),
            Self::Relu => x.max(0.0),
            Self::Sigmoid => 1.0 / (1.0 + libm::expf(-x)),
        }
    }
}

/// A dense layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// A row per output with a number per input.
    pub weights: Vec<Vec<f32>>,
    /// A number per output.
    pub bias: Vec<f32>,
    /// Activation function.
    pub activation: Activation,
}

/// A sequence of layers.
#[derive(Clone, Debug)]
pub struct Network {
    layers: Vec<Layer>,
    /// Inputs and outputs of a layer.
    values: [Vec<f32>; 2],
}

/// Maximum number of layers.
pub const MAX_LAYERS: usize = 3;
/// Maximum number of outputs of a layer.
pub const MAX_WIDTH: usize = 64;
/// Maximum number of inputs.
pub const MAX_INPUTS: usize = 256;

/// Invalid shape of a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// No layers, or too many.
    #[error("layers: {0} is out of range; from 1 to {MAX_LAYERS}")]
    Layers(usize),
    /// Too wide, or without outputs.
    #[error("layers[{0}]: {1} outputs are out of range; from 1 to {MAX_WIDTH}")]
    Width(usize, usize),
    /// A row or bias of the wrong length.
    #[error("layers[{layer}].{what}: {found} numbers; expected {expected}")]
    Length {
        /// Index of the layer.
        layer: usize,
        /// The part of wrong length.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Expected length.
        expected: usize,
    },
    /// Infinite, or not a number.
    #[error("layers[{0}]: contains a number that is not finite")]
    NotFinite(usize),
    /// Too many inputs.
    #[error("{0} observation entries; at most {MAX_INPUTS}")]
    Inputs(usize),
    /// The last layer does not match the action.
    #[error("the last layer has {0} outputs; the action needs {1}")]
    Outputs(usize, usize),
}

impl Network {
    /// A network of layers, each fed by the previous one.
    pub fn new(layers: Vec<Layer>) -> Result<Self, ShapeError> {
        if layers.is_empty() || layers.len() > MAX_LAYERS {
            return Err(ShapeError::Layers(layers.len()));
        }
        let mut inputs = layers[0].weights.first().map_or(0, Vec::len);
        if inputs > MAX_INPUTS {
            return Err(ShapeError::Inputs(inputs));
        }
        let mut widest = inputs;
        for (place, layer) in layers.iter().enumerate() {
            let outputs = layer.weights.len();
            if outputs == 0 || outputs > MAX_WIDTH {
                return Err(ShapeError::Width(place, outputs));
            }
            let rows = layer.weights.iter().map(|row| ("weights", row.len(), inputs));
            let wrong =
                rows.chain([("bias", layer.bias.len(), outputs)]).find(|&(_, found, expected)| found != expected);
            if let Some((what, found, expected)) = wrong {
                return Err(ShapeError::Length { layer: place, what, found, expected });
            }
            if !layer.weights.iter().flatten().chain(&layer.bias).all(|x| x.is_finite()) {
                return Err(ShapeError::NotFinite(place));
            }
            inputs = outputs;
            widest = widest.max(outputs);
        }
        let values = [alloc::vec![0.0; widest], alloc::vec![0.0; widest]];
        Ok(Self { layers, values })
    }

    /// Rejects a network with other numbers of inputs or outputs.
    pub fn check(&self, inputs: usize, outputs: usize) -> Result<(), ShapeError> {
        let found = self.layers[0].weights[0].len();
        if found != inputs {
            return Err(ShapeError::Length { layer: 0, what: "weights", found, expected: inputs });
        }
        let last = self.layers[self.layers.len() - 1].weights.len();
        if last == outputs { Ok(()) } else { Err(ShapeError::Outputs(last, outputs)) }
    }

    /// Outputs for `inputs`, whose length must match.
    pub fn forward(&mut self, inputs: &[f32]) -> &[f32] {
        let [from, to] = &mut self.values;
        from[..inputs.len()].copy_from_slice(inputs);
        let mut width = inputs.len();
        for layer in &self.layers {
            for ((out, row), bias) in to.iter_mut().zip(&layer.weights).zip(&layer.bias) {
                let sum = row.iter().zip(&from[..width]).fold(*bias, |sum, (weight, x)| sum + weight * x);
                *out = layer.activation.of(sum);
            }
            width = layer.weights.len();
            core::mem::swap(from, to);
        }
        &from[..width]
    }
}
