mod properties;
mod tables;
