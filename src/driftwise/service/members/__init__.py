"""Several processes over one store: who they are, which of them owns which deployments, and forwarding to the owner."""
