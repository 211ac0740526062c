"""Plans whose failures, in the worlds that are likely, are as rare as was asked for."""
