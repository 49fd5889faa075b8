//! Protected pages: lazy arrays whose memory appears when it is touched
