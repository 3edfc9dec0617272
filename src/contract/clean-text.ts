// Text as we keep it: one Unicode form, and nothing that a database or a JSON reader would choke on (msg 3.4).

/** NFC, without NUL; half a surrogate pair becomes the replacement character. */
export function cleanText(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed().normalize('NFC')
}
