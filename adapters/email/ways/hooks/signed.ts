// A text under an HMAC by one of several secrets, as while one is being replaced by another.
import type { Hmac, Secret } from '../../../../src/contract/index.ts'
import { type HmacHeaderOptions, verifyHmacSha256 } from '../../../../src/lib/index.ts'

export type SignedText = { readonly text: string; readonly signature: string } & HmacHeaderOptions

/** Every secret is tried, so that the time does not tell which of two was right. */
export async function isSignedByOne(
  secrets: readonly Secret[],
  hmac: Hmac,
  { text, signature, ...options }: SignedText,
): Promise<boolean> {
  const bytes = new TextEncoder().encode(text)
  let isRight = false
  for (const secret of secrets)
    isRight = (await verifyHmacSha256(hmac, bytes, signature, secret.reveal(), options)) || isRight
  return isRight
}
