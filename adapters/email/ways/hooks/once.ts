// A nonce or token stands for one body only. The same body again passes: it may be the second try of a mail that was never stored, and
// one that was is recognised by its own id later on.
import type { TtlStore } from '../../../../src/contract/index.ts'
import { sha256Hex, toHex } from '../../../../src/lib/index.ts'

export type OneTimeUse = {
  readonly family: string
  readonly value: string
  readonly body: string
  readonly lifeMs: number
}

/** False: it was used for another body before. */
export async function isForThisBody(notes: TtlStore, { family, value, body, lifeMs }: OneTimeUse): Promise<boolean> {
  const key = await sha256Hex(value)
  if (await notes.keep({ family, key, value: { body }, lifeMs, isOnce: true })) return true
  const known = await notes.read(family, key)
  // Gone between the two questions: its time was over.
  return known === undefined || known['body'] === body
}

export async function sha256HexBytes(bytes: Uint8Array): Promise<string> {
  // Request bodies are never shared between threads, which is all the type asks.
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)))
}
