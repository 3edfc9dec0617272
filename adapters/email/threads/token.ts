// Reply tokens: a key of ours with a proof that we wrote it. They stand in addresses and in our Message-IDs. Whoever was forwarded a
// mail has its token too, so a token says which thread is meant and never who may read it.
import type { Hmac } from '../../../src/contract/index.ts'
import { equalInConstantTime } from '../../../src/verification/index.ts'
import { base32, keyLength } from './key.ts'

export interface Tokens {
  mint(key: string): Promise<string>
  /** The key in a token of ours, however its case was changed. Undefined: we did not write it. */
  read(text: string): Promise<string | undefined>
}

const pattern = /^[a-z2-7]{32}$/i

/** What may be a token; whether it is one of ours takes `read`. */
export function looksLikeToken(text: string): boolean {
  return pattern.test(text)
}

/** `secret` is asked for every time, so that it is made when it is first needed. */
export function createTokens(hmac: Hmac, secret: () => Promise<string>): Tokens {
  const proofOf = async (key: string): Promise<string> => {
    const bytes = new TextEncoder().encode(`reply-token ${key}`)
    return base32(await hmac.sha256(await secret(), bytes)).slice(0, keyLength)
  }
  return {
    mint: async (key) => key + (await proofOf(key)),
    async read(text) {
      if (!looksLikeToken(text)) return undefined
      const token = text.toLowerCase()
      const key = token.slice(0, keyLength)
      return equalInConstantTime(token.slice(keyLength), await proofOf(key)) ? key : undefined
    },
  }
}
