// Character sets for what is bundled for Workers: workerd knows them itself, and the tables that CommonJS libraries bring are half
// of their size.

/** As iconv-lite has it. */
export const decode = (bytes, charset) => new TextDecoder(charset).decode(bytes)

/** As encoding-japanese has it, for a caller that asks the other one next. */
export const convert = () => undefined
