// Ids that callers choose: threads, runs, messages, tasks. They are stored, compared, logged and shown, so nothing in them may end a line,
// move a cursor, turn text around or be half a character. Checked when the request comes in, while the caller can still be told.
import * as z from 'zod'

/** Control characters (C0, DEL, C1), line and paragraph separators, and the embeddings, overrides and isolates of UAX 9. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

export const plainIdRemedy = 'use visible characters: no control characters, line breaks or changes of direction'

export function isPlainId(text: string): boolean {
  return !unfit.test(text) && text.isWellFormed()
}

/** Blanks at its ends do not count. */
export function callerId(maxLength = 512): z.ZodString {
  return z.string().trim().min(1).max(maxLength).refine(isPlainId, plainIdRemedy)
}
