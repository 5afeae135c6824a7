//! Both ends of connections in memory, and what certificates and keys are taken or refused.

mod material;
mod streams;
mod world;
