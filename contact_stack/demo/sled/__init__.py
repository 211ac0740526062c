"""The sled that the arm slides over a table, by plans that know their risk or do not."""
