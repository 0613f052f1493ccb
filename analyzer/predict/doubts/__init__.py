"""Doubts about a prediction: what is found, in which words, and with which weight."""
