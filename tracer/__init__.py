"""Records one cold run of an application and keeps what is needed to interpret it elsewhere."""
