/* The symbol that ICU asks its tables by, without a table. */
const char icudt72_dat[16];
