//! tail_loss_probe
