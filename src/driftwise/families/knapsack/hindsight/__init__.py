"""The linear program of a whole run, and the measures of non-stationarity that rest on it."""
