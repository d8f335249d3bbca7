"""Control particles, target particles and vortex particles [Madill & Mould 2013]."""
