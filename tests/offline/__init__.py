"""The program without a network: nothing outside this computer is asked for, and nothing is missed."""
