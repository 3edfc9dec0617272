// A nonce or token stands for one body only. The same body again passes: it may be the second try of a mail that was never stored, and
// one that was is recognised by its own id later on.
import type { Notes } from '../../../../src/contract/index.ts'
import { hexOf, sha256Hex } from '../../../../src/verification/index.ts'

export type Used = { readonly family: string; readonly value: string; readonly body: string; readonly lifeMs: number }

/** False: it was used for another body before. */
export async function isForThisBody(notes: Notes, { family, value, body, lifeMs }: Used): Promise<boolean> {
  const key = await sha256Hex(value)
  if (await notes.keep({ family, key, value: { body }, lifeMs, isOnce: true })) return true
  const known = await notes.read(family, key)
  // Gone between the two questions: its time was over.
  return known === undefined || known['body'] === body
}

export async function digestOf(bytes: Uint8Array): Promise<string> {
  // Request bodies are never shared between threads, which is all the type asks.
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)))
}
