"""Whole boots, predicted and measured."""
