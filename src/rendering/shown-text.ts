// Text as any channel may carry it: without control characters, direction overrides and broken surrogates.
import { cleanText } from '../contract/index.ts'

const hidden = /[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

export function cleanShownText(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
  return stripControlCharacters(cleanText(lines))
}

/** For what was decoded later, when the text as a whole is clean. */
export function stripControlCharacters(text: string): string {
  return hidden.test(text) ? text.replace(new RegExp(hidden, 'g'), '') : text
}
