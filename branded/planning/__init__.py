"""What memory a program takes, worked out before it runs; how much there is; and long work that goes on."""
