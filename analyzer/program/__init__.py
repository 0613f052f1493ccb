"""From a capture to what an application did, as the emulation of readahead takes it."""
