"""Derivatives: forward and reverse mode, Jacobians, checkpoints, custom rules."""
