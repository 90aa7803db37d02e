"""What makes the CPU fast.  `BRANDED_CPU=0`, in the environment or in a `Context`, switches all of it off."""
