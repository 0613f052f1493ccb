"""How often a history's test alarms without a drift, and how soon with one."""
