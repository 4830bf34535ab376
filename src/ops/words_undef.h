/* words_undef.h: ends the compute type that words_c.h opened, so that the next can be opened. */
#undef CT_f32
#undef CT_f64
#undef CT_i32
#undef CT_i64
#undef CT_u64
#undef CT_bool
#undef CT_NAME
#undef V
#undef B
#undef I
#undef U
#undef vnum
