"""The demo push_box: plan through contact, push, look, and plan again if need be."""
