"""Makes jets: Pythia events, a parametric detector, FastJet clustering, substructure."""
