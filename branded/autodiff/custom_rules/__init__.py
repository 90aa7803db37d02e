"""Custom derivative rules: `custom_jvp` and `custom_vjp`."""
