"""Small models, engines, devices and servers in the place of real ones."""
