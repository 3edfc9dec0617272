// Text as we keep it: one Unicode form, and nothing that a database or a JSON reader would choke on.

const plainAscii = /^[\u0001-\u007f]*$/

// Marks that stand upon the letter before them; U+034F is one that keeps them apart.
const marks = /(?:(?!\u034f)\p{M}){30}(?=\p{M})(?!\u034f)/gu

/** NFC, without NUL; half a surrogate pair becomes the replacement character. */
export function cleanText(text: string): string {
  // Most text and every field name is plain, and plain text is clean.
  if (plainAscii.test(text)) return text
  return separateMarks(text.replaceAll('\u0000', '').toWellFormed()).normalize('NFC')
}

/**
 * The stream-safe form (UAX #15, 13): no letter has more than 30 marks. Marks are put into their order by a sort whose work is the square of how many
 * stand together: 128 KB of them kept the event loop for two seconds.
 */
function separateMarks(text: string): string {
  return text.replace(marks, '$&\u034f')
}
