"""The Allegro hand that turns a mug to and fro, ``tamsi`` Sec. VI-B."""
