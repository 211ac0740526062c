"""The demo slide_sled: plans that know their risk or do not, executed by the arm."""
