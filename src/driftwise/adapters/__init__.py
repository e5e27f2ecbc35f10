"""driftwise behind the interfaces of other libraries; each file needs its library only where that is called."""
