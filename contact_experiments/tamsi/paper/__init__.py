"""The figures of the TAMSI paper: its small cases, the studies made with them, and the plots."""
