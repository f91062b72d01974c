//! Every impairment against its closed form, in virtual time. Bands hold 99.99 % and follow from the sample size;
//! seeds are fixed and were not chosen.

mod copies;
mod delay;
mod determinism;
mod invariants;
mod loss;
mod queue;
mod reorder;
mod sample;
