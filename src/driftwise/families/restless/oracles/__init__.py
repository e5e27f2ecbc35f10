"""The policies that know the world before it happens: for comparison, never for use; the file's name is its name."""

from driftwise.families.restless.oracles.whittle_oracle import WhittleOracle as WhittleOracle
