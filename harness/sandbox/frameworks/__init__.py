"""Lightning, Fabric, Accelerate and the Trainer of transformers, on CPU processes."""
