// JSON as PostgreSQL can store it: no NUL, no half of a surrogate pair, anywhere in it.
import { cleanText } from '../contract/index.ts'

// Both appear in JSON text only as escapes, so one look at the text tells whether anything must be cleaned.
const unstorable = /\\u0000|\\ud[89a-f][0-9a-f]{2}/i

export function storableJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  // Nearly every text holds no such escape at all, and to see that takes a fraction of the pattern's time.
  return text.includes('\\u') && unstorable.test(text) ? JSON.stringify(value, cleaned) : text
}

function cleaned(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value) : value
}
