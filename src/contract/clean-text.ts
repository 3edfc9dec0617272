// Text as we keep it: one Unicode form, and nothing that a database or a JSON reader would choke on (msg 3.4).

const plainAscii = /^[\u0001-\u007f]*$/

/** NFC, without NUL; half a surrogate pair becomes the replacement character. */
export function cleanText(text: string): string {
  // Most text and every field name is plain, and plain text is clean.
  if (plainAscii.test(text)) return text
  return text.replaceAll('\u0000', '').toWellFormed().normalize('NFC')
}
