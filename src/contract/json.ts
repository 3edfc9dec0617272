// JSON as a type: what may be stored, logged as a call, or handed over a wire.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }
